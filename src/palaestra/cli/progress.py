"""Progress of long work: a bar on a terminal, a line every few seconds elsewhere."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINE_SECONDS = 5.0
"""Seconds between two lines where there is no terminal."""


class TerminalBar:
    """One bar that moves by one; where it cannot be drawn, lines that say the same."""

    def __init__(self, progress: Progress, title: str, total: int | None, console: Console) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=total, at="")
        self._title = title
        self._of = "" if total is None else f" of {total}"
        self._console = console
        self._done = 0
        self._said = time.monotonic()

    def step(self, at: str) -> None:
        """One more is done: the one named `at`."""
        self._done += 1
        self._progress.update(self._task, advance=1, at=at)
        if not self._console.is_terminal and time.monotonic() - self._said >= LINE_SECONDS:
            self._said = time.monotonic()
            line = f"{self._title}: {self._done}{self._of} ({at})"
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def bar(title: str, total: int | None) -> Generator[TerminalBar]:
    """A bar on the error stream, so that output can be piped; without a `total` it only counts."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[at]}"),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        yield TerminalBar(progress, title, total, console)
