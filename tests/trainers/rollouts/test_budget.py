"""What a trajectory may take."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.records import EndReason
from palaestra.trainers.rollouts.budget import PlayConfig

CONFIG = PlayConfig(context=100, turn=10, turns=4, seconds=2.0)


@pytest.mark.parametrize("setting", ["context", "turn", "turns"])
def test_a_budget_is_at_least_1(setting: str) -> None:
    nothing: dict[str, Any] = {setting: 0}
    with pytest.raises(ValueError, match=f"{setting}=0: a budget is at least 1"):
        replace(CONFIG, **nothing)


@pytest.mark.parametrize("setting", ["seconds", "turn_timeout"])
@pytest.mark.parametrize("seconds", [0, -1.0])
def test_a_time_is_above_0(setting: str, seconds: float) -> None:
    no_time: dict[str, Any] = {setting: seconds}
    with pytest.raises(ValueError, match=f"{setting}={seconds}: a time is above 0"):
        replace(CONFIG, **no_time)


@given(tokens=st.integers(0, 200), turns=st.integers(0, 8), seconds=st.floats(0, 4))
def test_a_budget_is_spent_when_nothing_of_it_is_left(tokens: int, turns: int, seconds: float) -> None:
    spent = CONFIG.find_spent_budget(tokens=tokens, turns=turns, seconds=seconds)
    over = {
        EndReason.TOKEN_BUDGET: tokens >= 100,
        EndReason.MAX_TURNS: turns >= 4,
        EndReason.TIME_BUDGET: seconds >= 2,
    }
    assert spent == next((reason for reason, is_over in over.items() if is_over), None)
    assert spent is None or not spent.terminates


@given(tokens=st.integers(0, 99))
def test_a_turn_never_leaves_the_context(tokens: int) -> None:
    assert 1 <= CONFIG.room(tokens) <= CONFIG.turn
    assert tokens + CONFIG.room(tokens) <= CONFIG.context


def test_without_budgets_of_its_own_a_trajectory_ends_with_its_tokens() -> None:
    config = PlayConfig(context=100, turn=10)
    assert config.find_spent_budget(tokens=99, turns=10**6, seconds=1e9) is None
    assert config.find_spent_budget(tokens=100, turns=0, seconds=0) is EndReason.TOKEN_BUDGET
