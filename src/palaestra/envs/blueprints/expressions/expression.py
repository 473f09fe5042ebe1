"""An expression that was read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palaestra.envs.blueprints.expressions.frame import Frame
from palaestra.envs.blueprints.expressions.value_type import ValueType


@dataclass(frozen=True, slots=True)
class Expression:
    """A typed expression."""

    text: str
    type: ValueType
    rules: frozenset[str]
    """The rules that it names."""
    reads: frozenset[tuple[str, str]]
    """What it goes by: entity and column; the column is empty where it goes through rows of the entity."""
    steps: int
    """How many parts an evaluation comes to at most."""
    is_literal: bool
    """Whether it is written out as a number or a text, or as a choice between such."""
    _evaluate: Callable[[Frame], Any]

    def evaluate(self, frame: Frame) -> Any:
        """Its value on a frame: a number, a date, a text, a truth value, the id of a row, or `None`."""
        return self._evaluate(frame)
