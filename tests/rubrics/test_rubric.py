from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.errors import RubricError
from palaestra.records import Layer
from palaestra.rubrics import HARM, MET, TOTAL, Criterion, Rubric
from palaestra.rubrics.rubric import LOOKUPS


def criterion(name: str, **fields: Any) -> Criterion:
    return Criterion(id=name, text=f"It is {name}.", check=lambda _: MET, **fields)


@given(shares=st.lists(st.none() | st.integers(1, 20), min_size=1, max_size=10), forbidden=st.integers(0, 3))
def test_the_expectations_of_a_rubric_sum_to_100_or_it_is_refused(shares: list[int | None], forbidden: int) -> None:
    criteria = [criterion(f"c{n}", points=points) for n, points in enumerate(shares)]
    criteria += [criterion(f"f{n}", kind="forbid") for n in range(forbidden)]
    given_points = sum(p or 0 for p in shares)
    left = TOTAL - given_points
    fits = left >= shares.count(None) if None in shares else left == 0
    if not fits:
        with pytest.raises(RubricError, match="sum to"):
            Rubric(criteria)
        return
    rubric = Rubric(criteria)
    expected = rubric.points[: len(shares)]
    assert sum(expected) == TOTAL
    assert all(got == asked for got, asked in zip(expected, shares, strict=True) if asked is not None)
    even = [got for got, asked in zip(expected, shares, strict=True) if asked is None]
    assert not even or max(even) - min(even) <= 1
    assert min(rubric.points) >= 1
    assert rubric.worst == -HARM * forbidden


def test_what_does_not_divide_goes_to_the_first() -> None:
    assert Rubric([criterion(name) for name in "abc"]).points == (34, 33, 33)


@pytest.mark.parametrize(
    ("layers", "points"),
    [
        (["selection", "outcome"], (LOOKUPS, TOTAL - LOOKUPS)),
        (["selection", "selection", "task"], (LOOKUPS - LOOKUPS // 2, LOOKUPS // 2, TOTAL - LOOKUPS)),
        (["selection"] * 7 + ["task"], (1, 1, 1, 1, 1, 0, 0, TOTAL - LOOKUPS)),
        (["selection", "selection"], (50, 50)),
        (["outcome", "task"], (50, 50)),
    ],
)
def test_look_ups_together_win_little_beside_work(layers: list[Layer], points: tuple[int, ...]) -> None:
    assert Rubric([criterion(f"c{n}", layer=layer) for n, layer in enumerate(layers)]).points == points


def test_points_of_prohibitions_are_harm_unless_said() -> None:
    rubric = Rubric([criterion("a"), criterion("f", kind="forbid"), criterion("g", kind="forbid", points=7)])
    assert rubric.points == (100, HARM, 7)
    assert rubric.signed == (100, -HARM, -7)
    assert rubric.worst == -HARM - 7


def test_the_specs_are_the_criteria_as_people_read_them() -> None:
    rubric = Rubric([criterion("a"), criterion("b", after=("a",), layer="task", points=10)])
    first, second = rubric.specs
    assert (first.id, first.text, first.points, first.kind) == ("a", "It is a.", 90, "expect")
    assert (second.after, second.layer, second.points) == (("a",), "task", 10)


def test_a_rubric_of_prohibitions_alone_is_refused() -> None:
    with pytest.raises(RubricError, match="prohibitions alone reward doing nothing"):
        Rubric([criterion("f", kind="forbid")])


@pytest.mark.parametrize("points", [0, -5])
def test_points_are_positive(points: int) -> None:
    with pytest.raises(RubricError, match=f"'a' has {points} points"):
        Rubric([criterion("a", points=points)])


def test_an_id_occurs_once() -> None:
    with pytest.raises(RubricError, match="criterion id 'a' occurs twice"):
        Rubric([criterion("a"), criterion("a")])


def test_a_dependency_is_one_of_the_criteria() -> None:
    with pytest.raises(RubricError, match="criterion 'late': unknown criterion 'fisrt'; did you mean 'first'"):
        Rubric([criterion("first"), criterion("late", after=("fisrt",))])


def test_criteria_do_not_wait_for_each_other() -> None:
    with pytest.raises(RubricError, match=r"criteria wait for each other: .* -> .*; drop one `after`"):
        Rubric([criterion("a", after=("b",)), criterion("b", after=("a",))])


def test_the_message_names_who_is_left_too_little() -> None:
    with pytest.raises(RubricError, match="sum to 100 of 100, which leaves too little for b; change them"):
        Rubric([criterion("a", points=100), criterion("b")])


def test_criteria_are_asked_by_what_they_are_about() -> None:
    rubric = Rubric([criterion("s"), criterion("e", about="event"), criterion("a", about="answer")])
    assert (rubric.about_state, rubric.about_events, rubric.about_answer) == ((0,), (1,), (2,))


def test_a_criterion_is_a_record_of_its_own() -> None:
    assert replace(criterion("a"), points=3).spec(3) == criterion("a", points=3).spec(3)
