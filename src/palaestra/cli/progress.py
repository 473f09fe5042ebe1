"""Progress of long work on standard error: a bar on a terminal, a line every few seconds in a log."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS = 5.0
"""Seconds between lines if standard error is not a terminal."""


class TerminalProgressBar(Protocol):
    """Work that progresses in steps."""

    def step(self, at: str, count: int = 1) -> None:
        """Count further steps as done. `at` names the last of them, or with a count of 0 the step in progress."""
        ...


class _TerminalBar:
    def __init__(self, progress: Progress, title: str, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=total, at="")

    def step(self, at: str, count: int = 1) -> None:
        self._progress.update(self._task, advance=count, at=at)


class LogBar:
    """Writes a line when `SECONDS` have passed since the last one: done, total, and the last step.

    Args:
        title: The name of the work.
        total: The number of steps; `None` if unknown.
        write: Writes a line.
        clock: Returns seconds, like `time.monotonic`.
    """

    def __init__(
        self, title: str, total: int | None, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._title = title
        self._total = total
        self._write = write
        self._clock = clock
        self._done = 0
        self._began = self._last = clock()

    def step(self, at: str, count: int = 1) -> None:
        """Count further steps as done. `at` names the last of them, or with a count of 0 the step in progress."""
        self._done += count
        now = self._clock()
        if now - self._last < SECONDS:
            return
        self._last = now
        of = "" if self._total is None else f"/{self._total}"
        left = ""
        if self._total is not None and self._done:
            seconds = (now - self._began) / self._done * (self._total - self._done)
            left = f", about {seconds:.0f} s left"
        self._write(f"{self._title}: {self._done}{of} in {now - self._began:.0f} s{left} ({at})")


@contextmanager
def bar(title: str, total: int | None) -> Generator[TerminalProgressBar]:
    """A bar on a terminal, lines in a log; output can be piped. Without a `total` it only counts."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield LogBar(title, total, lambda line: console.print(line, markup=False, highlight=False, soft_wrap=True))
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("[dim]{task.fields[at]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _TerminalBar(progress, title, total)
