"""A run's figures as curves of TensorBoard."""

from pathlib import Path

import orjson
from torch.utils.tensorboard import SummaryWriter

from palaestra.records import JsonObject
from palaestra.trainers.monitors.tracker import Tracker
from palaestra.trainers.objectives.objective import Metrics


class TensorBoardTracker(Tracker):
    """Writes curves and texts to the folder `tensorboard`, which `tensorboard --logdir` shows.

    Args:
        directory: The parent of this folder.
        done: The number of completed steps; TensorBoard drops later ones.
        settings: The settings of the run, shown as a text.
    """

    def __init__(self, directory: Path, done: int, settings: JsonObject) -> None:
        self._writer = SummaryWriter(directory / "tensorboard", purge_step=done + 1)
        text = orjson.dumps(settings, option=orjson.OPT_INDENT_2).decode()
        self._writer.add_text("settings", f"```\n{text}\n```", done)

    def log(self, step: int, metrics: Metrics) -> None:
        """Write a step's figures."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def event(self, step: int, name: str, text: str) -> None:
        """Write an event of a step."""
        self._writer.add_text(name, text, step)

    def close(self) -> None:
        """Write everything that is pending, and close."""
        self._writer.close()
