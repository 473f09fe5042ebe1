"""The kit's calculator: each operation is the arithmetic that it names, and the policy's rounding is the same."""

import pickle
from datetime import datetime
from fractions import Fraction
from math import floor, prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.clock import Clock
from palaestra.envs import kit
from palaestra.envs.state import overlay_on
from palaestra.envs.worlds.storefront.policy import percent_of
from palaestra.errors import ToolRefusal
from palaestra.records import ToolCall
from palaestra.tools import Toolbox, ToolContext
from worlds.inn import SCHEMA, Rules, populate

BOX, STATE = Toolbox([kit.calculate]), overlay_on(populate(1, Rules()))
VALUES = st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=60)


def run(operation: str, *values: int) -> Any:
    context = ToolContext(
        state=STATE, clock=Clock(datetime(2031, 3, 3)), role="agent", actor="EMP-1", ids_in=SCHEMA.ids_in
    )
    made = ToolCall(tool="calculate", arguments={"operation": operation, "values": list(values)})
    return BOX.call(context, STATE, "call_0_0", made, [])


def value(operation: str, *values: int) -> int:
    made, given_value = kit.calculation(operation, *values)  # type: ignore[arg-type]
    result = run(operation, *values)
    assert f'"value":{given_value}' in result.content
    assert made.arguments == {"operation": operation, "values": list(values)}
    return given_value


@given(VALUES)
def test_sums_differences_and_extremes_are_those_of_arithmetic(values: list[int]) -> None:
    assert value("sum", *values) == sum(values)
    assert value("difference", *values) == 2 * values[0] - sum(values)
    assert (value("lowest", *values), value("highest", *values)) == (min(values), max(values))


@given(st.lists(st.integers(-999, 999), min_size=1, max_size=4))
def test_products_are_those_of_arithmetic(values: list[int]) -> None:
    assert value("product", *values) == prod(values)


@given(st.integers(0, 10**9), st.integers(0, 200))
def test_a_percentage_is_rounded_half_up_as_the_policy_rounds(amount: int, percent: int) -> None:
    exact = Fraction(amount * percent, 100)
    assert value("percent", amount, percent) == floor(exact + Fraction(1, 2)) == percent_of(amount, percent)


def test_a_percentage_takes_two_values_and_a_product_stays_in_bounds() -> None:
    for operation, values in (("percent", (1, 2, 3)), ("product", (10**9, 10**9))):
        with pytest.raises(ToolRefusal):
            kit.calculation(operation, *values)  # type: ignore[arg-type]


def test_it_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(kit.calculate)).name == "calculate"
