"""A run's figures on Weights & Biases; its package `wandb` is the user's to install.

Nothing is sent with `WANDB_MODE=offline`: the run is written to its folder, and `wandb sync` sends it later.
"""

from pathlib import Path

import wandb

from palaestra.records import JsonObject
from palaestra.trainers.monitors.tracker import Tracker
from palaestra.trainers.objectives.objective import Metrics

_ID = "wandb-id.txt"


class WandbTracker(Tracker):
    """A run of wandb's, which a resumed training goes on with.

    wandb takes no step back: of a step that it was told before, it keeps what it has, and says so.

    Args:
        directory: Where the run is kept; its name is that of the run and of the stage.
        done: Steps that are done; without any, a new run is begun.
        settings: Of the run, by which runs are found and compared.
    """

    def __init__(self, directory: Path, done: int, settings: JsonObject) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        known = directory / _ID
        begun = known.read_text() if done and known.exists() else None
        name = f"{directory.parent.name}-{directory.name}"
        self._run = wandb.init(
            project="palaestra", name=name, dir=directory, id=begun, resume="allow", config=dict(settings)
        )
        known.write_text(self._run.id)

    def log(self, step: int, metrics: Metrics) -> None:
        """Write down a step's figures."""
        self._run.log(metrics, step=step)

    def event(self, step: int, name: str, text: str) -> None:
        """Write down what happened at a step."""
        del step
        self._run.alert(title=name, text=text)

    def close(self) -> None:
        """Write what is left to be written."""
        self._run.finish()
