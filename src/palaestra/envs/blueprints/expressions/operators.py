"""Arithmetic and comparisons of the expression language."""

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from palaestra.envs.blueprints.expressions.frame import Calculation, Frame
from palaestra.envs.blueprints.expressions.typed import TypedExpression
from palaestra.envs.blueprints.expressions.value_type import DATE, FLAG, INTEGER, MONEY, ValueType
from palaestra.envs.kit.calculation import Operation, percent_half_up
from palaestra.errors import ExpressionError

_ORDERS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


def calculate(operation: ast.operator, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """A sum, difference or product, of numbers, amounts and dates.

    Raises:
        ExpressionError: the types do not go together.
    """
    for side in (left, right):
        if side.type.optional:
            raise ExpressionError(f"{side.type} is calculated with; test it with `is not None`, and give it a default")
    kinds = (left.type.name, right.type.name)
    variables = left.variables | right.variables
    match operation, kinds:
        case (ast.Add(), ("date", "integer")):
            return TypedExpression(
                DATE, lambda frame: left.evaluate(frame) + timedelta(right.evaluate(frame)), variables=variables
            )
        case (ast.Sub(), ("date", "integer")):
            return TypedExpression(
                DATE, lambda frame: left.evaluate(frame) - timedelta(right.evaluate(frame)), variables=variables
            )
        case (ast.Sub(), ("date", "date")):
            return TypedExpression(
                INTEGER, lambda frame: _days(left.evaluate(frame), right.evaluate(frame)), variables=variables
            )
        case (ast.Add() | ast.Sub(), (a, b)) if _common(left, right) is not None and {a, b} <= {"integer", "money"}:
            common = _common(left, right)
            assert common is not None, "the guard says so"
            name: Operation = "sum" if isinstance(operation, ast.Add) else "difference"
            return TypedExpression(common, _record(name, left, right), variables=variables)
        case (ast.Mult(), ("integer", "integer") | ("money", "integer") | ("integer", "money")):
            kind = MONEY if "money" in kinds else INTEGER
            return TypedExpression(kind, _record("product", left, right), variables=variables)
        case _:
            sign = _SIGNS.get(type(operation), type(operation).__name__)
            raise ExpressionError(
                f"{left.type} {sign} {right.type} has no meaning; +, - and * take numbers, amounts, and dates with days"
            )


def share(amount: TypedExpression, percent: TypedExpression) -> TypedExpression:
    """So many percent of an amount, rounded half up.

    Raises:
        ExpressionError: it is asked of other types.
    """
    if amount.type != MONEY or percent.type != INTEGER:
        raise ExpressionError(f"share({amount.type}, {percent.type}); it takes an amount and a percentage")
    return TypedExpression(MONEY, _record("percent", amount, percent), variables=amount.variables | percent.variables)


def extreme(name: str, parts: list[TypedExpression]) -> TypedExpression:
    """The lowest or highest of several values.

    Raises:
        ExpressionError: they are of different types, or have no order.
    """
    kind = parts[0].type
    for part in parts[1:]:
        kind = _common(replace(parts[0], type=kind), part) or kind
    if any(not _fits(kind, part) for part in parts) or kind.optional or not kind.is_ordered:
        raise ExpressionError(f"{name}({', '.join(str(p.type) for p in parts)}); it takes values of one ordered type")
    choose: Callable[[list[Any]], Any] = min if name == "min" else max
    operation: Operation = "lowest" if name == "min" else "highest"

    def evaluate(frame: Frame) -> Any:
        values = [part.evaluate(frame) for part in parts]
        if frame.trace is not None and kind.is_number:
            frame.trace.calculations.append(Calculation(operation=operation, values=tuple(values)))
        return choose(values)

    return TypedExpression(kind, evaluate, variables=frozenset[str]().union(*(part.variables for part in parts)))


def compare(sign: ast.cmpop, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """A comparison. One with a missing value is false, but for `!=`.

    Raises:
        ExpressionError: the types cannot be compared so.
    """
    variables = left.variables | right.variables
    if isinstance(sign, ast.Is | ast.IsNot):
        return _is_none(sign, left, right)
    if isinstance(sign, ast.Eq | ast.NotEq):
        if not _comparable(left, right):
            raise ExpressionError(f"{left.type} is compared with {right.type}; compare values of one type")
        equal = isinstance(sign, ast.Eq)
        return TypedExpression(
            FLAG, lambda frame: (left.evaluate(frame) == right.evaluate(frame)) is equal, variables=variables
        )
    order = _ORDERS.get(type(sign))
    if order is None:
        raise ExpressionError(f"{type(sign).__name__} is not known; use ==, !=, <, <=, >, >=, in, is None, is not None")
    if _common(left, right) is None or not left.type.is_ordered:
        raise ExpressionError(f"{left.type} has no order with {right.type}; compare numbers, amounts or dates")

    def evaluate(frame: Frame) -> bool:
        first, second = left.evaluate(frame), right.evaluate(frame)
        return first is not None and second is not None and order(first, second)

    return TypedExpression(FLAG, evaluate, variables=variables)


def contains(value: TypedExpression, options: list[TypedExpression], *, negated: bool) -> TypedExpression:
    """Whether a value is one of several literals.

    Raises:
        ExpressionError: one of them is none, or of another type.
    """
    for option in options:
        if not option.is_literal or not _comparable(value, option):
            raise ExpressionError(f"{option.type} cannot be {value.type}; list literals that it can be")
    literals = [option.evaluate for option in options]

    def evaluate(frame: Frame) -> bool:
        found = value.evaluate(frame)
        return any(found == literal(frame) for literal in literals) is not negated

    return TypedExpression(FLAG, evaluate, variables=value.variables)


def _is_none(sign: ast.cmpop, left: TypedExpression, right: TypedExpression) -> TypedExpression:
    if right.type.name != "none":
        raise ExpressionError("`is` compares with None alone; write == for other values")
    if not left.type.optional:
        raise ExpressionError(f"{left.type} is never missing; leave `is None` out, or make the field optional")
    missing = isinstance(sign, ast.Is)
    return TypedExpression(FLAG, lambda frame: (left.evaluate(frame) is None) is missing, variables=left.variables)


def _comparable(left: TypedExpression, right: TypedExpression) -> bool:
    first, second = left.type.without_none, right.type.without_none
    if "none" in {first.name, second.name}:
        return False  # `is None` says it
    if first.name == "choice" and right.is_literal and second.name == "choice":
        return set(second.options) <= set(first.options)
    if second.name == "choice" and left.is_literal and first.name == "choice":
        return set(first.options) <= set(second.options)
    if (first.name, second.name) == ("text", "choice"):
        return right.is_literal
    if (first.name, second.name) == ("choice", "text"):
        return left.is_literal
    if {first.name, second.name} <= {"text", "choice"}:
        return first.name == second.name and (first.name == "text" or first.options == second.options)
    return _common(left, right) is not None


def _common(left: TypedExpression, right: TypedExpression) -> ValueType | None:
    """The type that both have, where a whole number that is written out counts as an amount."""
    first, second = left.type.without_none, right.type.without_none
    if first == second:
        return first
    if {first.name, second.name} == {"integer", "money"}:
        literal = left if first.name == "integer" else right
        return MONEY if literal.is_literal else None
    return None


def _fits(kind: ValueType, part: TypedExpression) -> bool:
    return part.type == kind or (kind == MONEY and part.type == INTEGER and part.is_literal)


def _record(name: Operation, left: TypedExpression, right: TypedExpression) -> Callable[[Frame], int]:
    """Calculates, and notes it where there is a trace."""
    functions: dict[str, Callable[[int, int], int]] = {
        "sum": operator.add,
        "difference": operator.sub,
        "product": operator.mul,
        "percent": percent_half_up,
    }
    function = functions[name]

    def evaluate(frame: Frame) -> int:
        first, second = left.evaluate(frame), right.evaluate(frame)
        if frame.trace is not None:
            frame.trace.calculations.append(Calculation(operation=name, values=(first, second)))
        return function(first, second)

    return evaluate


def _days(later: date, earlier: date) -> int:
    return (later - earlier).days
