"""Progress of long work: a bar on a terminal, silence elsewhere."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class TerminalBar:
    """One bar that moves by one."""

    def __init__(self, progress: Progress, title: str, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task(title, total=total, at="")

    def step(self, at: str) -> None:
        """One more is done: the one named `at`."""
        self._progress.update(self._task, advance=1, at=at)


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
        yield TerminalBar(progress, title, total)
