"""How far long work is, shown by whoever can show it."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeAlias


class Bar(Protocol):
    """Something that shows how far long work is."""

    def step(self, at: str) -> None:
        """One more is done."""
        ...


OpenBar: TypeAlias = Callable[[str, int], AbstractContextManager[Bar]]


@contextmanager
def silent(title: str, total: int) -> Generator[Bar]:
    """A bar that nobody sees."""
    del title, total

    class Nothing:
        def step(self, at: str) -> None:
            del at

    yield Nothing()
