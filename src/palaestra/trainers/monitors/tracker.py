"""Trackers, which write a run's figures and events.

A tracker is opened after a number of completed steps. Its records of later steps, which a killed run wrote before it
resumed from an older save, are removed, so that no step occurs twice.
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
    """Writes the figures and events of each step."""

    @abstractmethod
    def log(self, step: int, metrics: Metrics) -> None:
        """Write a step's figures; steps come in order.

        Raises:
            StorageError: the figures could not be written.
        """

    @abstractmethod
    def event(self, step: int, name: str, text: str) -> None:
        """Write an event of a step as text, such as an alarm; raises the same errors as `log`."""

    @abstractmethod
    def close(self) -> None:
        """Write everything that is pending, and close. A second call has no effect."""


class JsonLinesTracker(Tracker):
    """Writes a line of JSON for each step and each event to `metrics.jsonl`, without buffering.

    A step's line holds `step` and its figures; an event's line holds `step`, `event` and `text`.

    Args:
        directory: The folder of the file.
        done: The number of completed steps; lines of later steps are removed.

    Raises:
        RecordError: the existing file is not a tracker's log.
        StorageError: the file cannot be written.
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
        """Write a step's figures."""
        self._write({"step": step, **metrics})

    def event(self, step: int, name: str, text: str) -> None:
        """Write an event of a step."""
        self._write({"step": step, "event": name, "text": text})

    def _write(self, row: JsonObject) -> None:
        try:
            self._file.write(orjson.dumps(row) + b"\n")
        except OSError as error:
            raise _refuse(self._path, error) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_log(path: Path) -> list[JsonObject]:
    """The lines of a `metrics.jsonl`; an incomplete last line, left by a kill, is ignored.

    Raises:
        RecordError: a line was not written by a tracker; the message names it.
    """
    return [row for _, row in _read(path)]


def _read(path: Path) -> list[tuple[bytes, JsonObject]]:
    *lines, torn = path.read_bytes().split(b"\n")
    del torn  # empty, or incomplete if the run was killed
    return [(line, _row(path, number, line)) for number, line in enumerate(lines, 1)]


def _row(path: Path, number: int, line: bytes) -> JsonObject:
    try:
        row: object = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise RecordError(f"{path}, line {number}: no JSON ({error}); delete the line to continue") from error
    if not isinstance(row, dict) or not isinstance(cast("JsonObject", row).get("step"), int):
        raise RecordError(f"{path}, line {number}: no step's figures; give a folder that holds no other {path.name}")
    return cast("JsonObject", row)


def _refuse(path: Path, error: OSError) -> StorageError:
    return StorageError(
        error.errno,
        f"could not write {path}: {error.strerror}; free some space or check its rights, and run it again: "
        "it goes on from its last save",
    )
