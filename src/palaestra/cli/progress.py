"""Progress of long work on the error stream: a bar on a terminal, a line every few seconds in a log."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS = 5.0
"""Between two lines where the error stream is no terminal."""


class TerminalProgressBar(Protocol):
    """Work that moves on in steps."""

    def step(self, at: str, count: int = 1) -> None:
        """So many more are done; `at` names the last of them, or with a count of 0 what is under way."""
        ...


class _TerminalBar:
    def __init__(self, progress: Progress, title: str, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=total, at="")

    def step(self, at: str, count: int = 1) -> None:
        self._progress.update(self._task, advance=count, at=at)


class LogBar:
    """Writes a line when `SECONDS` have passed since the last one: done, total, and what was done last.

    Args:
        title: What is under way.
        total: How much there is to do; `None` where that is not known.
        write: Writes a line.
        clock: Seconds, as `time.monotonic` tells them.
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
        """So many more are done; `at` names the last of them, or with a count of 0 what is under way."""
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
