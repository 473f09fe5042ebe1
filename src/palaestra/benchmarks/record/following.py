"""Imports runs while they grow: every few seconds the lines added since the last check, and new runs in the folders."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from palaestra.benchmarks.record.database import RecordDatabase
from palaestra.benchmarks.record.importing import ImportSummary, import_run
from palaestra.benchmarks.record.sources import SourceRun, find_sources
from palaestra.durable import file_state
from palaestra.errors import ConfigError, RecordError, StorageError

INTERVAL = 3.0
"""Seconds between two checks."""


def follow(
    database: RecordDatabase,
    paths: Sequence[Path],
    *,
    stop: Event,
    say: Callable[[str], None],
    interval: float = INTERVAL,
) -> None:
    """Import the runs at these paths until `stop` is set. An error is reported once and retried at the next check.

    Args:
        database: The record to import into.
        paths: Folders and files; a folder may still be empty.
        stop: Ends the import, between two pieces of a file.
        say: Receives each line of output: what was added, or an error.
        interval: Seconds between two checks.
    """
    follower = _Follower(database, stop, say)
    while not stop.is_set():
        begun = time.monotonic()
        follower.look(paths)
        # Comparing large files takes long, and the machine has other work to do.
        stop.wait(max(interval, _IDLE * (time.monotonic() - begun)))


_IDLE = 4.0
"""Seconds of rest per second of work."""


class _Follower:
    """The state that is kept between two checks."""

    def __init__(self, database: RecordDatabase, stop: Event, say: Callable[[str], None]) -> None:
        self._database, self._stop, self._say = database, stop, say
        self._faults: set[str] = set()
        self._former: set[str] = set()
        self._states: dict[str, object] = {}

    def look(self, paths: Sequence[Path]) -> None:
        """Import everything that was added since the last check."""
        self._former, self._faults = self._faults, set()
        for path in paths:
            with self._report_errors():
                for source in find_sources(path) if path.is_file() or _holds_anything(path) else ():
                    if self._stop.is_set():
                        return
                    with self._report_errors():
                        self._import(source)

    def _import(self, source: SourceRun) -> None:
        state = [(file.name, file_state(file.path)) for file in source.files]
        if self._states.get(source.name) == state:
            return
        summary = import_run(self._database, source)
        self._states[source.name] = state
        if summary.lines:
            self._say(import_sentence(summary))

    @contextmanager
    def _report_errors(self) -> Generator[None]:
        """Report each error once."""
        try:
            yield
        except (ConfigError, RecordError, StorageError) as error:
            self._faults.add(str(error))
            if str(error) not in self._former:
                self._say(str(error))


def _holds_anything(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())


def import_sentence(summary: ImportSummary) -> str:
    """Describe in words what an import added."""
    if summary.is_empty:
        return f"{summary.run}: holds nothing yet, and is imported once it does"
    damaged = f", {summary.faults} of them damaged: kept, and not read" if summary.faults else ""
    lines = "1 new line" if summary.lines == 1 else f"{summary.lines:,} new lines"
    return f"{summary.run}: {lines}{damaged}"
