"""Rules are shown in the words of their authors."""

from collections.abc import Callable
from typing import Annotated

import pytest
from pydantic import AfterValidator, TypeAdapter, ValidationError

from palaestra.validation import plain_rule


def _refuse(value: int) -> int:
    raise ValueError(f"{value} is odd; give an even number")


def _assert_even(value: int) -> int:
    raise AssertionError(f"{value} is odd; give an even number")


@pytest.mark.parametrize("check", [_refuse, _assert_even])
def test_a_rule_loses_the_prefix_that_pydantic_adds(check: Callable[[int], int]) -> None:
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(Annotated[int, AfterValidator(check)]).validate_python(3)
    (fault,) = raised.value.errors()
    assert fault["msg"] != plain_rule(fault["msg"]) == "3 is odd; give an even number"


def test_pydantic_s_own_rules_stay_as_they_are() -> None:
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(int).validate_python("four")
    (fault,) = raised.value.errors()
    assert plain_rule(fault["msg"]) == fault["msg"]
