"""The interface through which long work reports its progress."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeAlias


class ProgressBar(Protocol):
    """Shows the progress of long work."""

    def step(self, at: str, count: int = 1) -> None:
        """Count further steps as done. `at` names the last of these or, with a count of 0, the step in progress."""
        ...


OpenProgressBar: TypeAlias = Callable[[str, int], AbstractContextManager[ProgressBar]]


@contextmanager
def silent(title: str, total: int) -> Generator[ProgressBar]:
    """A bar that shows nothing."""
    del title, total

    class Nothing:
        def step(self, at: str, count: int = 1) -> None:
            del at, count

    yield Nothing()
