"""How far long work is, shown by whoever can show it."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeAlias


class ProgressBar(Protocol):
    """Something that shows how far long work is."""

    def step(self, at: str, count: int = 1) -> None:
        """So many more are done; `at` names the last of them, or with a count of 0 what is under way."""
        ...


OpenProgressBar: TypeAlias = Callable[[str, int], AbstractContextManager[ProgressBar]]


@contextmanager
def silent(title: str, total: int) -> Generator[ProgressBar]:
    """A bar that nobody sees."""
    del title, total

    class Nothing:
        def step(self, at: str, count: int = 1) -> None:
            del at, count

    yield Nothing()
