from typing import Any

import pytest

from palaestra.errors import RubricError
from palaestra.rubrics import close, expect_answer, in_any_order
from palaestra.rubrics.expected import as_written, nearly, same
from worlds.bench import Bench


@pytest.mark.parametrize(
    ("given", "wanted", "fits"),
    [
        (1.245, close(1.25, within=0.005), True),
        (1.255, close(1.25, within=0.005), True),
        (1.2449, close(1.25, within=0.005), False),
        (1, close(1.0, within=0.1), True),
        (True, close(1.0, within=0.1), False),
        ("1.25", close(1.25, within=0.1), False),
        (float("nan"), close(1.25, within=0.1), False),
        ([1, 2], [1, 2], True),
        ([2, 1], [1, 2], False),
        ([True], [1], False),
        ([1, 2, 2], [1, 2], False),
        ([2, 1], in_any_order([1, 2]), True),
        ([2, 2], in_any_order([1, 2]), False),
        ([1.2, 1.0], in_any_order([close(1.1, within=0.1), close(1.0, within=0.05)]), True),
        ([1.0, 1.2], in_any_order([close(1.1, within=0.1), close(1.0, within=0.05)]), True),
        ([1.2, 1.2], in_any_order([close(1.1, within=0.1), close(1.0, within=0.05)]), False),
        ("ab", in_any_order("ab"), False),
        ([1.5], [close(1.5, within=0.1)], True),
    ],
)
def test_what_a_value_is_compared_with(given: Any, wanted: Any, fits: bool) -> None:
    assert same(given, wanted) is fits


@pytest.mark.parametrize("value", [1.25, [1, 2.5], in_any_order([1.5])])
def test_an_answer_with_a_fraction_states_its_tolerance(value: Any) -> None:
    with pytest.raises(RubricError, match=r"answer 'mean' is the float .*close\("):
        expect_answer({"mean": value})


@pytest.mark.parametrize(("value", "within"), [(1.0, 0.0), (1.0, -1.0), (float("nan"), 1.0), (1.0, float("inf"))])
def test_a_tolerance_is_a_finite_number_above_0(value: float, within: float) -> None:
    with pytest.raises(RubricError, match="the tolerance is above 0"):
        close(value, within=within)


@pytest.mark.parametrize(
    ("answer", "points"),
    [
        ({"mean": 2.504, "codes": ["b", "a"], "rows": [1, 2]}, 100),
        ({"mean": 2.51, "codes": ["b", "a"], "rows": [1, 2]}, 0),
        ({"mean": 2.5, "codes": ["b", "b"], "rows": [1, 2]}, 0),
        ({"mean": 2.5, "codes": ["b", "a"], "rows": [2, 1]}, 0),
        ({"mean": 2.5, "codes": ["b", "a"]}, 0),
    ],
)
def test_answers_with_floats_and_lists_are_compared_as_their_author_says(answer: dict[str, Any], points: int) -> None:
    criterion = expect_answer({"mean": close(2.5, within=0.005), "codes": in_any_order(["a", "b"]), "rows": [1, 2]})
    assert Bench(criterion).finish(answer) == points
    assert criterion.text == "Answered mean = 2.5 (within 0.005), codes = [a, b] in any order, rows = [1, 2]."


def test_what_an_oracle_answers_is_taken_as_exactly_as_it_is_written() -> None:
    assert str(as_written(1.25)) == "1.25 (within 0.005)"
    assert same([3.004, 1], as_written([3.0, 1]))
    assert not same([3.06, 1], as_written([3.0, 1]))
    assert same(0.3, nearly(0.1 + 0.2))
    assert not same(0.3001, nearly(0.1 + 0.2))
    assert same((0.0,), nearly((0.0,)))
