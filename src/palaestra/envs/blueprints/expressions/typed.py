"""A part of an expression: its type, and what gives its value."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from palaestra.envs.blueprints.expressions.frame import Frame
from palaestra.envs.blueprints.expressions.value_type import ValueType

# Any: a value of whatever type the part has.
Evaluate: TypeAlias = Callable[[Frame], Any]


@dataclass(frozen=True, slots=True)
class TypedExpression:
    """A typed part of an expression."""

    type: ValueType
    evaluate: Evaluate
    is_literal: bool = False
    """Whether it is written out as a number or a text, or as a choice between such."""
    variables: frozenset[str] = frozenset()
    """The names that it reads."""
