"""AgentPRM against loops over turns, and what its targets are where there is nothing to average or to look ahead to."""

import numpy as np
import pytest
import torch

from complete import complete
from credit import of_turns
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import (
    AgentPrm,
    action_numbers,
    monte_carlo_targets,
    state_values,
    td_targets,
)
from palaestra.trainers.objectives.advantages.turns import turn_returns

SEEDS = range(4)


def turns_of(batch: TokenBatch) -> list[list[int]]:
    """The turns of each trajectory."""
    owner = batch.trajectory_U.tolist()
    return [[u for u, one in enumerate(owner) if one == r] for r in range(batch.trajectories)]


def written(batch: TokenBatch, turn: int) -> tuple[int, ...]:
    return tuple(
        int(batch.ids_T[t])
        for t in range(len(batch.ids_T))
        if int(batch.turn_T[t]) == turn and bool(batch.trained_T[t])
    )


def values_by_loops(batch: TokenBatch, gamma: float) -> list[float]:
    promise, reward, groups = batch.column("promise_U").tolist(), batch.reward_U.tolist(), batch.group_R.tolist()
    own = turns_of(batch)
    found: list[float] = []
    for r, turns in enumerate(own):
        rivals = [promise[other[0]] for q, other in enumerate(own) if groups[q] == groups[r]]
        for place, _ in enumerate(turns):
            before = turns[place - 1]
            found.append((promise[before] - reward[before]) / gamma if place else float(np.mean(rivals)))
    return found


@pytest.mark.parametrize("gamma", [1.0, 0.9])
@pytest.mark.parametrize("seed", SEEDS)
def test_monte_carlo_is_the_mean_return_of_the_same_action_in_the_same_state(seed: int, gamma: float) -> None:
    batch = complete(seed=seed)
    batch = batch.with_columns({"anchor_U": torch.zeros_like(batch.column("anchor_U"))})
    reward = batch.reward_U.tolist()
    passes: dict[object, list[float]] = {}
    keys: list[object] = []
    for r, turns in enumerate(turns_of(batch)):
        for place, turn in enumerate(turns):
            key = (int(batch.column("task_R")[r]), written(batch, turn))
            later = sum(gamma**k * reward[u] for k, u in enumerate(turns[place:]))
            passes.setdefault(key, []).append(later)
            keys.append(key)
    assert len(passes) < len(keys), "some action was taken twice"
    expected = [float(np.mean(passes[key])) for key in keys]
    np.testing.assert_allclose(AgentPrm(gamma=gamma).targets(batch), expected, rtol=0, atol=1e-12)
    advantages = np.array(expected) - values_by_loops(batch, gamma)
    np.testing.assert_allclose(of_turns(AgentPrm(gamma=gamma)(batch), batch), advantages, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 0.95), (0.9, 0.5), (0.9, 0.0)])
@pytest.mark.parametrize("seed", SEEDS)
def test_td_moves_each_promise_by_what_follows_it(seed: int, gamma: float, lam: float) -> None:
    batch = complete(seed=seed)
    promise, reward = batch.column("promise_U").tolist(), batch.reward_U.tolist()
    expected: list[float] = []
    for turns in turns_of(batch):
        ahead = [reward[u] + gamma * (promise[v] if v is not None else 0.0) - promise[u]
                 for u, v in zip(turns, [*turns[1:], None], strict=True)]  # fmt: skip
        for place, turn in enumerate(turns):
            moved = sum((gamma * lam) ** k * delta for k, delta in enumerate(ahead[place:]))
            expected.append(promise[turn] + moved)
    part = AgentPrm(estimate="td", gamma=gamma, lam=lam)
    np.testing.assert_allclose(part.targets(batch), expected, rtol=0, atol=1e-12)
    advantages = np.array(expected) - values_by_loops(batch, gamma)
    np.testing.assert_allclose(of_turns(part(batch), batch), advantages, rtol=0, atol=1e-12)


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_looking_to_the_end_td_is_monte_carlo_where_nothing_is_done_twice(gamma: float) -> None:
    batch = complete()
    alone_U = torch.arange(len(batch.reward_U))
    return_U = turn_returns(batch.reward_U, batch.trajectory_U, batch.trajectories, gamma=gamma)
    torch.testing.assert_close(monte_carlo_targets(return_U, alone_U[:, None], alone_U), return_U, rtol=0, atol=0)
    to_the_end_U = td_targets(
        batch.reward_U, batch.column("promise_U"), batch.trajectory_U, batch.trajectories, gamma=gamma, lam=1.0
    )
    torch.testing.assert_close(to_the_end_U, return_U, rtol=0, atol=1e-12)


def test_promises_that_are_kept_leave_no_temporal_difference() -> None:
    """(1, 2, 4) paid, and promised in full: every target is the promise, and every turn's progress is its pay's."""
    reward_U = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    promise_U = torch.tensor([7.0, 6.0, 4.0], dtype=torch.float64)
    owner_U, group_R = torch.zeros(3).long(), torch.zeros(1).long()
    for lam in (0.0, 0.5, 1.0):
        assert td_targets(reward_U, promise_U, owner_U, 1, gamma=1.0, lam=lam).tolist() == [7.0, 6.0, 4.0]
    assert state_values(promise_U, reward_U, owner_U, group_R, gamma=1.0).tolist() == [7.0, 6.0, 4.0]


def test_actions_are_told_apart_by_what_is_written() -> None:
    batch = complete()
    numbers = action_numbers(batch).tolist()
    texts = [written(batch, turn) for turn in range(len(batch.reward_U))]
    for one in range(len(texts)):
        for other in range(one):
            assert (numbers[one] == numbers[other]) == (texts[one] == texts[other])


@pytest.mark.parametrize("setting", [{"gamma": 0.0}, {"gamma": 1.5}, {"lam": -0.1}])
def test_a_setting_that_makes_no_sense_is_refused(setting: dict[str, float]) -> None:
    ((name, value),) = setting.items()
    with pytest.raises(ValueError, match=rf"{name}={value:g}"):
        AgentPrm(**setting)  # type: ignore[arg-type]
