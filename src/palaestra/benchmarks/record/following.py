"""Imports runs while they grow: every few seconds what has come since, and runs that are new in the folders."""

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
"""Seconds between two looks."""


def follow(
    database: RecordDatabase,
    paths: Sequence[Path],
    *,
    stop: Event,
    say: Callable[[str], None],
    interval: float = INTERVAL,
) -> None:
    """Import what is at these paths until `stop` is set. A fault is said once, and tried again with the next look.

    Args:
        database: Where to.
        paths: Folders and files; a folder may still be empty.
        stop: Ends it, between two pieces of a file.
        say: Takes a line for people: what was added, and what is at fault.
        interval: Seconds between two looks.
    """
    follower = _Follower(database, stop, say)
    while not stop.is_set():
        begun = time.monotonic()
        follower.look(paths)
        # Large files take long to compare; the machine has other work to do.
        stop.wait(max(interval, _IDLE * (time.monotonic() - begun)))


_IDLE = 4.0
"""Seconds of rest for a second of work."""


class _Follower:
    """What a follower remembers from one look to the next."""

    def __init__(self, database: RecordDatabase, stop: Event, say: Callable[[str], None]) -> None:
        self._database, self._stop, self._say = database, stop, say
        self._faults: set[str] = set()
        self._former: set[str] = set()
        self._states: dict[str, object] = {}

    def look(self, paths: Sequence[Path]) -> None:
        """Import what has come."""
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
        """Say what is at fault, once."""
        try:
            yield
        except (ConfigError, RecordError, StorageError) as error:
            self._faults.add(str(error))
            if str(error) not in self._former:
                self._say(str(error))


def _holds_anything(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())


def import_sentence(summary: ImportSummary) -> str:
    """What an import added, in words."""
    if summary.is_empty:
        return f"{summary.run}: holds nothing yet, and is imported once it does"
    damaged = f", {summary.faults} of them damaged: kept, and not read" if summary.faults else ""
    lines = "1 new line" if summary.lines == 1 else f"{summary.lines:,} new lines"
    return f"{summary.run}: {lines}{damaged}"
