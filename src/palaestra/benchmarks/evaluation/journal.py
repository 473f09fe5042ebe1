"""The folder of a running evaluation: finished episodes are not played again, and none is counted twice.

A block of episodes is one line of a log with outcomes and trajectories, so that it is stored whole or not at all. When
all blocks are there, the log becomes the files that `results` reads, in the suite's order, independent of the order of
arrival. Only one process at a time evaluates into a folder.
"""

import fcntl
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

import orjson

from palaestra.benchmarks.evaluation.outcome import EpisodeOutcome
from palaestra.benchmarks.evaluation.results import (
    JOURNAL,
    OUTCOMES,
    SETTINGS,
    TRAJECTORIES,
    Results,
    Settings,
    episode_id,
    read_results,
    read_settings,
)
from palaestra.durable import explain_disk_errors, make_folder, sweep, write_file
from palaestra.errors import ConfigError, RecordError
from palaestra.log import Log
from palaestra.trajectory import Episode, dump_episode

_SHOWN = 5
"""Maximum differences of settings that an error names."""


class Journal:
    """An evaluation's folder, new or to be resumed.

    Args:
        folder: The folder; made if it is missing.
        settings: The requested settings.
        again: The agent's block size, to drop blocks with a fault so that they are played again. 0 drops nothing.

    Raises:
        ConfigError: the folder has another evaluation or something else; the message names the differences.
        RecordError: its evaluation cannot be read, or another process evaluates into it.
        StorageError: the disk refuses.
    """

    def __init__(self, folder: Path, settings: Settings, *, again: int = 0) -> None:
        self.folder = folder
        self.settings = settings
        with explain_disk_errors(folder.resolve()):
            make_folder(folder.resolve())
            self._lock = _lock_folder(folder)
        self._log: Log | None = None
        try:
            self._settle()
            so_far = self._sound(read_results(folder), again) if again else read_results(folder)
            self._finished = not (folder / JOURNAL).exists() and (folder / OUTCOMES).exists()
            self._log = None if self._finished else Log(folder / JOURNAL)
        except BaseException:
            self.close()
            raise
        self.done: frozenset[tuple[str, str, int]] = frozenset(map(_key, so_far.outcomes))
        """The episodes that have ended: cell, task, sample."""

    def _settle(self) -> None:
        """Write the settings, or compare them with those that are there."""
        path = self.folder / SETTINGS
        for name in (SETTINGS, OUTCOMES, TRAJECTORIES):
            sweep(self.folder / name)
        if path.exists():
            differing = differences(read_settings(self.folder), self.settings)
            if differing:
                more = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
                raise ConfigError(
                    f"{self.folder} holds an evaluation with other settings: {'; '.join(differing[:_SHOWN])}{more}; "
                    "evaluate into another folder, or ask for the same"
                )
            return
        if others := sorted(one.name for one in self.folder.iterdir() if one.name != _LOCK):
            raise ConfigError(f"{self.folder} holds {others[0]} and no evaluation; give a new folder")
        write_file(path, _document(self.settings))

    def _sound(self, results: Results, block: int) -> Results:
        """Remove the blocks with a fault, also on the disk; return the rest."""
        places = {
            (cell.id, task): (cell.id, column * results.samples)
            for cell in results.suite.cells
            for column, task in enumerate(cell.tasks)
        }

        def place(outcome: EpisodeOutcome) -> tuple[str, int]:
            cell, first = places[outcome.cell, outcome.task]
            return cell, (first + outcome.sample) // block

        faulty = {place(outcome) for outcome in results.outcomes if outcome.fault is not None}
        if not faulty:
            return results
        outcomes = [outcome for outcome in results.outcomes if place(outcome) not in faulty]
        names = {episode_id(*_key(outcome)) for outcome in outcomes}
        episodes = [episode for episode in results.episodes if episode.id in names]
        write_file(self.folder / JOURNAL, _block(outcomes, episodes) + b"\n" if outcomes else b"")
        for name in (OUTCOMES, TRAJECTORIES):  # the journal takes precedence, should this be killed in between
            (self.folder / name).unlink(missing_ok=True)
        return read_results(self.folder)

    def add(self, outcomes: Sequence[EpisodeOutcome], episodes: Sequence[Episode]) -> None:
        """Write a block; once this returns, no kill or power cut loses it."""
        assert self._log is not None, "nothing is played in an evaluation that is done"
        self._log.append(_block(outcomes, episodes))
        self._log.sync()

    def finish(self) -> Results:
        """Write the final files in order, once every episode has ended."""
        results = read_results(self.folder)
        assert len(results.outcomes) == results.expected_episodes, "every slot was played"
        if not self._finished:
            write_file(self.folder / TRAJECTORIES, _lines([dump_episode(one) for one in results.episodes]))
            write_file(self.folder / OUTCOMES, _lines([orjson.dumps(one) for one in results.outcomes]))
            self._close_log()
            (self.folder / JOURNAL).unlink()
            self._finished = True
        return results

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()

    def close(self) -> None:
        """Release the folder. Closing twice is allowed."""
        self._close_log()
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


_LOCK = ".lock"


def _lock_folder(folder: Path) -> int | None:
    """A lock that ends with this process, for whatever reason."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise RecordError(
            f"{folder}: another process evaluates into it; wait for it, or give another folder"
        ) from error
    return descriptor


def _key(outcome: EpisodeOutcome) -> tuple[str, str, int]:
    return outcome.cell, outcome.task, outcome.sample


def _block(outcomes: Sequence[EpisodeOutcome], episodes: Sequence[Episode]) -> bytes:
    kept = b",".join(dump_episode(replace(episode, tools=())) for episode in episodes)
    return b'{"outcomes":' + orjson.dumps(outcomes) + b',"episodes":[' + kept + b"]}"


def _lines(records: Sequence[bytes]) -> bytes:
    return b"".join(record + b"\n" for record in records)


def _document(settings: Settings) -> bytes:
    return orjson.dumps(settings, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)


def differences(there: Settings, asked: Settings) -> list[str]:
    """The differences between two settings, one sentence each."""
    found: list[str] = []
    _compare("", orjson.loads(_document(there)), orjson.loads(_document(asked)), found)
    return found


def _compare(place: str, there: Any, asked: Any, found: list[str]) -> None:
    # Any: JSON, both.
    if there == asked:
        return
    if isinstance(there, dict) and isinstance(asked, dict):
        one, other = cast("dict[str, Any]", there), cast("dict[str, Any]", asked)
        for name in sorted({*one, *other}):
            _compare(f"{place}.{name}" if place else name, one.get(name), other.get(name), found)
    elif isinstance(there, list | dict) or isinstance(asked, list | dict):
        found.append(f"{place}: others")
    else:
        found.append(f"{place} is {there!r} there and {asked!r} here")
