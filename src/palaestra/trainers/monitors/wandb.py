"""A run's figures on Weights & Biases; users install its package `wandb` themselves.

With `WANDB_MODE=offline` nothing is sent: the run is written to its folder, and `wandb sync` sends it later.
"""

from pathlib import Path

import wandb

from palaestra.records import JsonObject
from palaestra.trainers.monitors.tracker import Tracker
from palaestra.trainers.objectives.objective import Metrics

_ID = "wandb-id.txt"


class WandbTracker(Tracker):
    """Writes to a run of wandb, which a resumed training continues.

    wandb cannot drop a step: for a step that it already has, it keeps the old figures and warns.

    Args:
        directory: The folder of the run; wandb's name is made of the run's and the stage's names.
        done: The number of completed steps; with 0, a new run is begun.
        settings: The settings of the run, by which runs are found and compared.
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
        """Write a step's figures."""
        self._run.log(metrics, step=step)

    def event(self, step: int, name: str, text: str) -> None:
        """Send an event of a step as an alert."""
        del step
        self._run.alert(title=name, text=text)

    def close(self) -> None:
        """Write everything that is pending, and close."""
        self._run.finish()
