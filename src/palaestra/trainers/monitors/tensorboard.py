"""A run's figures as TensorBoard's curves."""

from pathlib import Path

import orjson
from torch.utils.tensorboard import SummaryWriter

from palaestra.records import JsonObject
from palaestra.trainers.monitors.tracker import Tracker
from palaestra.trainers.objectives.objective import Metrics


class TensorBoardTracker(Tracker):
    """Curves and texts in the folder `tensorboard`, which `tensorboard --logdir` shows.

    Args:
        directory: Where that folder is.
        done: Steps that are done: TensorBoard is told to forget later ones.
        settings: Of the run, shown as a text.
    """

    def __init__(self, directory: Path, done: int, settings: JsonObject) -> None:
        self._writer = SummaryWriter(directory / "tensorboard", purge_step=done + 1)
        text = orjson.dumps(settings, option=orjson.OPT_INDENT_2).decode()
        self._writer.add_text("settings", f"```\n{text}\n```", done)

    def log(self, step: int, metrics: Metrics) -> None:
        """Write down a step's figures."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def event(self, step: int, name: str, text: str) -> None:
        """Write down what happened at a step."""
        self._writer.add_text(name, text, step)

    def close(self) -> None:
        """Write what is left to be written."""
        self._writer.close()
