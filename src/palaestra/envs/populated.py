"""A world as it is populated, before anyone acts in it: what its invariants read."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeAlias

from palaestra.protocols import StateView


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulatedWorld:
    """The rows of one world seed under one handbook."""

    state: StateView
    start: datetime
    """When episodes begin."""
    rules: Any
    """What the world goes by, of a type of its own."""

    @property
    def today(self) -> date:
        """The day on which episodes begin."""
        return self.start.date()


Invariant: TypeAlias = Callable[[PopulatedWorld], Iterable[str]]
"""Yields one sentence for each row that breaks it; the sentence names the row."""
