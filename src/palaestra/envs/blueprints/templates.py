"""Texts with expressions in braces, and values that a document writes down."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from palaestra.envs.blueprints.blueprint import Scalar
from palaestra.envs.blueprints.expressions import INTEGER, MONEY, Expression, Frame, Scope, ValueType, parse_expression
from palaestra.envs.kit import amount
from palaestra.errors import BlueprintError

_PART = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A text with expressions in braces: amounts as "EUR 12.50", dates as "2026-05-04", rows as their ids."""

    text: str
    _parts: tuple[str | Expression, ...]

    @property
    def rules(self) -> frozenset[str]:
        """The rules that it states."""
        return frozenset[str]().union(*(part.rules for part in self._parts if not isinstance(part, str)))

    def fill(self, frame: Frame) -> str:
        """The text with the values of its expressions. Nothing counts as read."""
        trace, frame.trace = frame.trace, None
        try:
            return "".join(part if isinstance(part, str) else _format(part, frame) for part in self._parts)
        finally:
            frame.trace = trace


def parse_template(text: str, scope: Scope) -> Template:
    """Read a text with expressions in braces.

    Raises:
        BlueprintError: a brace has no partner, or an expression cannot be read.
    """
    parts: list[str | Expression] = []
    for number, part in enumerate(_PART.split(text)):
        if number % 2 == 0 and ("{" in part or "}" in part):
            raise BlueprintError(f"{text!r}: a brace has no partner; put one expression between each pair of braces")
        parts.append(part if number % 2 == 0 else parse_expression(part, scope))
    return Template(text, tuple(parts))


def _format(part: Expression, frame: Frame) -> str:
    value = part.evaluate(frame)
    if value is None:
        return "none"
    if part.type.name == "money":
        return amount(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.isoformat() if isinstance(value, date) else str(value)


# Any: a value of the type that was asked for.
Evaluate = Callable[[Frame], Any]


def read_value(value: Scalar | None, wanted: ValueType, scope: Scope) -> Evaluate:
    """What gives the value that a document writes for a field or an argument.

    Numbers, `true`, `false`, `null` and the texts of a choice stand for themselves. A value of type text is a text with
    expressions in braces. Every other text is an expression.

    Raises:
        BlueprintError: it is of another type, or cannot be read.
    """
    if value is None:
        if not wanted.optional:
            raise BlueprintError(f"null, but {wanted} is never missing; give a value, or put a ? behind the type")
        return lambda _frame: None
    if isinstance(value, str):
        return _read_text(value, wanted, scope)
    kind = wanted.without_none.name
    if (kind == "flag") is not isinstance(value, bool) or kind not in {"flag", "integer", "money"}:
        raise BlueprintError(f"{value!r} is not {wanted}; write such a value or an expression for it")
    return lambda _frame: value


def _read_text(value: str, wanted: ValueType, scope: Scope) -> Evaluate:
    if wanted.name == "choice" and value in wanted.options:
        return lambda _frame: value
    if wanted.name == "text":
        return parse_template(value, scope).fill
    expression = parse_expression(value, scope)
    written = expression.type == INTEGER and wanted.without_none == MONEY and expression.is_literal
    if not written and not wanted.accepts(expression.type):
        raise BlueprintError(f"`{value}` is {expression.type}, not {wanted}; write an expression of that type")
    return expression.evaluate
