"""A tool that calculates with whole numbers, so that an amount that is written was the answer of an earlier turn.

It states values and knows no record and no rule: which numbers are put in follows from records and the handbook.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from palaestra.envs.task import call
from palaestra.errors import ToolRefusal
from palaestra.records import ToolCall
from palaestra.tools import ToolContext, tool

Operation: TypeAlias = Literal["sum", "difference", "product", "percent", "lowest", "highest"]
Number: TypeAlias = Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000)]
LARGEST = 10**15
"""The largest result."""


def percent_half_up(value: int, percent: int) -> int:
    """`percent` per cent of `value`, rounded half up to a whole number."""
    return (value * percent + 50) // 100


def _difference(values: Sequence[int]) -> int:
    first, *rest = values
    return first - sum(rest)


def _product(values: Sequence[int]) -> int:
    result = 1
    for value in values:
        result *= value
        if abs(result) > LARGEST:
            raise ToolRefusal("too_large", f"the result is beyond {LARGEST}")
    return result


def _percent(values: Sequence[int]) -> int:
    if len(values) != 2:
        raise ToolRefusal("bad_values", f"percent takes an amount and a percentage, not {len(values)} values")
    return percent_half_up(values[0], values[1])


_OPERATIONS: Mapping[Operation, Callable[[Sequence[int]], int]] = {
    "sum": sum,
    "difference": _difference,
    "product": _product,
    "percent": _percent,
    "lowest": min,
    "highest": max,
}


@tool()
def calculate(
    context: ToolContext, operation: Operation, values: Annotated[list[Number], Field(min_length=1, max_length=60)]
) -> object:
    """Calculate with whole numbers, such as amounts in cents.

    Args:
        operation: sum; difference (the first less all others); product; percent (of the first value, as many percent
            as the second says, rounded half up); lowest; highest.
        values: The numbers, in order.
    """
    del context
    return {"value": _OPERATIONS[operation](values)}


def calculation(operation: Operation, *values: int) -> tuple[ToolCall, int]:
    """The call of `calculate`, as oracles are written, and the value that it gives.

    Raises:
        ToolRefusal: the operation does not take these values.
    """
    return call(calculate.name, operation=operation, values=list(values)), _OPERATIONS[operation](values)
