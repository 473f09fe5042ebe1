"""Numbers of turns: places, sums and what tokens get, on trajectories of which some have no turn."""

import torch

from credit import column, played
from palaestra.trainers.objectives.advantages.turns import (
    at_tokens,
    before,
    has_rivals,
    last,
    places,
    turn_returns,
)

OWNER_U = torch.tensor([1, 1, 1, 3])
"""Of four trajectories, two of which never took a turn."""


def test_places_count_from_0_in_each_trajectory() -> None:
    assert places(OWNER_U, 4).tolist() == [0, 1, 2, 0]
    assert last(OWNER_U, 4).tolist() == [False, False, True, True]


def test_returns_of_turns_are_discounted_from_the_turn_on() -> None:
    assert turn_returns(column([1, 2, 4, 8]), OWNER_U, 4, gamma=0.5).tolist() == [3, 4, 4, 8]


def test_before_a_turn_stood_what_stood_after_the_one_before_it() -> None:
    assert before(column([1, 2, 3, 4]), column([5, 6, 7, 8]), OWNER_U).tolist() == [6, 1, 2, 8]


def test_a_token_gets_its_turns_number_and_others_get_0() -> None:
    batch = played([[0.0], [0.0]], [0, 0])
    assert at_tokens(column([3, 4]), batch).tolist() == [0, 3, 3, 0, 0, 4, 4, 0]
    assert at_tokens(torch.tensor([True, False]), batch).tolist() == [False, True, True, *[False] * 5]


def test_a_trajectory_has_rivals_where_another_is_of_its_group() -> None:
    assert has_rivals(torch.tensor([5, 2, 5])).tolist() == [True, False, True]


def test_no_turns_have_no_numbers() -> None:
    none_U = torch.zeros(0, dtype=torch.long)
    assert not len(turn_returns(column([]), none_U, 2))
    assert not len(before(column([]), column([1, 2]), none_U))
    assert not at_tokens(column([]), played([[], []], [0, 0])).any()
