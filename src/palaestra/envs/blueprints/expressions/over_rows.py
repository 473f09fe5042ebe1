"""Functions over rows: `any`, `all`, `sum`, `count`, `min`, `max`, `first` and `one`."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from palaestra.envs.blueprints.expressions.frame import Calculation, Frame
from palaestra.envs.blueprints.expressions.typed import Evaluate, TypedExpression
from palaestra.envs.blueprints.expressions.value_type import FLAG, INTEGER, MONEY, ValueType
from palaestra.errors import ExpressionError, RowMissingError

Rows = Callable[[Frame], list[str]]
"""Gives the ids of the rows that are gone through."""
NAMES = ("any", "all", "sum", "count", "min", "max", "first", "one")


def over_rows(
    name: str, variable: str, rows: TypedExpression, tests: list[TypedExpression], element: TypedExpression
) -> TypedExpression:
    """What a function gives over the rows that pass all tests.

    Args:
        name: The function.
        variable: The name under which element and tests read a row.
        rows: The rows; its value is a list of ids.
        tests: Conditions.
        element: What is read of each row.

    Raises:
        ExpressionError: a test is no condition, or the element is not what the function takes.
    """
    for test in tests:
        if test.type != FLAG:
            raise ExpressionError(f"the condition after `if` is {test.type}; write a comparison")
    _check_element(name, element)
    conditions = [test.evaluate for test in tests]

    def passing(frame: Frame) -> Iterator[str]:
        outer = frame.names.get(variable)
        for key in rows.evaluate(frame):
            frame.names[variable] = key
            if all(condition(frame) for condition in conditions):
                yield key
        frame.names[variable] = outer

    parts = (rows, *tests, element)
    variables = frozenset[str]().union(*(part.variables for part in parts)) - {variable}
    kind, evaluate = _function(name, element, passing)
    return TypedExpression(kind, evaluate, variables=variables)


def _check_element(name: str, element: TypedExpression) -> None:
    wanted = {
        "any": ("a condition", element.type == FLAG),
        "all": ("a condition", element.type == FLAG),
        "sum": ("numbers or amounts", element.type in {INTEGER, MONEY}),
        "min": ("values with an order", element.type.is_ordered and not element.type.optional),
        "max": ("values with an order", element.type.is_ordered and not element.type.optional),
        "count": ("rows", element.type.name == "row"),
        "first": ("rows", element.type.name == "row"),
        "one": ("rows", element.type.name == "row"),
    }[name]
    if not wanted[1]:
        raise ExpressionError(f"{name}({element.type} for ...); it takes {wanted[0]}")


def _function(
    name: str, element: TypedExpression, passing: Callable[[Frame], Iterator[str]]
) -> tuple[ValueType, Evaluate]:
    values: Callable[[Frame], Iterator[Any]] = lambda frame: (element.evaluate(frame) for _ in passing(frame))  # noqa: E731
    match name:
        # Every row is looked at, also behind the first that decides: who lists rows sees them all.
        case "any":
            return FLAG, lambda frame: any(list(values(frame)))
        case "all":
            return FLAG, lambda frame: all(list(values(frame)))
        case "count":
            return INTEGER, lambda frame: len(list(passing(frame)))
        case "first":
            return replace(element.type, optional=True), lambda frame: next(iter(list(values(frame))), None)
        case "one":
            return element.type, lambda frame: _first(list(values(frame)), element.type.entity)
        case "sum":
            return element.type, lambda frame: _total(frame, list(values(frame)))
        case _:
            choose: Callable[..., Any] = min if name == "min" else max
            return replace(element.type, optional=True), lambda frame: choose(list(values(frame)), default=None)


def _first(keys: list[str], entity: str) -> str:
    if not keys:
        raise RowMissingError(entity, "that is asked for")
    return keys[0]


def _total(frame: Frame, values: list[int]) -> int:
    if frame.trace is not None and len(values) > 1:
        frame.trace.calculations.append(Calculation(operation="sum", values=tuple(values)))
    return sum(values)
