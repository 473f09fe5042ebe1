"""Imports runs while they grow: every few seconds what has come since, and runs that are new in the folders."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Event

from palaestra.benchmarks.record.database import RecordDatabase
from palaestra.benchmarks.record.importing import ImportSummary, import_run
from palaestra.benchmarks.record.sources import SourceRun, find_sources
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
    faults: set[str] = set()
    while not stop.is_set():
        found: set[str] = set()
        for path in paths:
            found |= _look(database, path, stop, say, faults)
        faults = found
        stop.wait(interval)


def _look(database: RecordDatabase, path: Path, stop: Event, say: Callable[[str], None], former: set[str]) -> set[str]:
    """Import what has come; gives what was at fault."""
    faults: set[str] = set()

    def attempt(work: Callable[[], None]) -> None:
        try:
            work()
        except (ConfigError, RecordError, StorageError) as error:
            faults.add(str(error))
            if str(error) not in former:
                say(str(error))

    def look() -> None:
        for source in find_sources(path) if path.is_file() or _holds_anything(path) else ():
            if stop.is_set():
                return
            attempt(partial(_import, database, source, say))

    attempt(look)
    return faults


def _holds_anything(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())


def _import(database: RecordDatabase, source: SourceRun, say: Callable[[str], None]) -> None:
    summary = import_run(database, source)
    if summary.lines:
        say(import_sentence(summary))


def import_sentence(summary: ImportSummary) -> str:
    """What an import added, in words."""
    damaged = f", {summary.faults} of them damaged: kept, and not read" if summary.faults else ""
    lines = "1 new line" if summary.lines == 1 else f"{summary.lines:,} new lines"
    return f"{summary.run}: {lines}{damaged}"
