"""Where a run's figures and events are written down.

A tracker is opened for steps from a number on. What an earlier run wrote of those steps, before it was killed and went
on from an older save, is taken back, so that no step is there twice.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import BinaryIO, cast

import orjson

from palaestra.durable import write_file
from palaestra.errors import RecordError, StorageError
from palaestra.records import JsonObject
from palaestra.trainers.objectives.objective import Metrics

LOG = "metrics.jsonl"


class Tracker(ABC):
    """Writes down what happens at each step."""

    @abstractmethod
    def log(self, step: int, metrics: Metrics) -> None:
        """Write down a step's figures; steps come in order.

        Raises:
            StorageError: they could not be written.
        """

    @abstractmethod
    def event(self, step: int, name: str, text: str) -> None:
        """Write down in words what happened at a step, such as an alarm; raises as `log` does."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left to be written. Closing twice is fine."""


class JsonLinesTracker(Tracker):
    """A line of JSON for each step and for each event, in `metrics.jsonl`; what is written stands at once.

    A step's line holds `step` and its figures; an event's `step`, `event` and `text`.

    Args:
        directory: Where the file is.
        done: Steps that are done: lines of later ones are taken out.

    Raises:
        RecordError: the file there is no log of a tracker's.
        StorageError: it cannot be written.
    """

    def __init__(self, directory: Path, done: int) -> None:
        self._path = directory / LOG
        if self._path.exists():
            kept = [line for line, row in _read(self._path) if cast("int", row["step"]) <= done]
            write_file(self._path, b"".join(line + b"\n" for line in kept))
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = self._path.open("ab", buffering=0)
        except OSError as error:
            raise _refuse(self._path, error) from error

    def log(self, step: int, metrics: Metrics) -> None:
        """Write down a step's figures."""
        self._write({"step": step, **metrics})

    def event(self, step: int, name: str, text: str) -> None:
        """Write down what happened at a step."""
        self._write({"step": step, "event": name, "text": text})

    def _write(self, row: JsonObject) -> None:
        try:
            self._file.write(orjson.dumps(row) + b"\n")
        except OSError as error:
            raise _refuse(self._path, error) from error

    def close(self) -> None:
        """Write what is left to be written."""
        self._file.close()


def read_log(path: Path) -> list[JsonObject]:
    """The lines of a `metrics.jsonl`; a last line that a kill cut short is left out.

    Raises:
        RecordError: a line is none of a tracker's; the message names it.
    """
    return [row for _, row in _read(path)]


def _read(path: Path) -> list[tuple[bytes, JsonObject]]:
    *lines, torn = path.read_bytes().split(b"\n")
    del torn  # nothing, or what was being written when the run was killed
    return [(line, _row(path, number, line)) for number, line in enumerate(lines, 1)]


def _row(path: Path, number: int, line: bytes) -> JsonObject:
    try:
        row: object = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise RecordError(f"{path}, line {number}: no JSON ({error}); delete the line to go on") from error
    if not isinstance(row, dict) or not isinstance(cast("JsonObject", row).get("step"), int):
        raise RecordError(f"{path}, line {number}: no step's figures; give a folder that holds no other {path.name}")
    return cast("JsonObject", row)


def _refuse(path: Path, error: OSError) -> StorageError:
    return StorageError(
        error.errno,
        f"could not write {path}: {error.strerror}; free some space or check its rights, and run it again: "
        "it goes on from its last save",
    )
