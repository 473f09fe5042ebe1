"""MT-GRPO against z-scores in numpy, its golden numbers and GRPO."""

import numpy as np
import pytest
import torch

from credit import column, drawn_rewards, of_turns, played
from palaestra.trainers.objectives.advantages import MtGrpo, group_advantages, mtgrpo_advantages

GROUPS = [4, 4, 4, 9, 9, 2]
SEEDS = range(10)


def scored(values: list[float], groups: list[int]) -> list[float]:
    found: list[float] = []
    for value, group in zip(values, groups, strict=True):
        rivals = [other for other, its in zip(values, groups, strict=True) if its == group]
        alone = len(rivals) == 1
        found.append(0.0 if alone else float((value - np.mean(rivals)) / (np.std(rivals, ddof=1) + 1e-4)))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_advantages_are_sums_of_z_scores(seed: int) -> None:
    rewards = drawn_rewards(np.random.default_rng(seed), GROUPS)
    batch = played(rewards, GROUPS)
    outcome = scored([paid[-1] for paid in rewards], GROUPS)
    turn = scored([sum(paid[:-1]) for paid in rewards], GROUPS)
    expected = [
        outcome[place] + (0.5 * turn[place] if t < len(paid) - 1 or len(paid) == 1 else 0.0)
        for place, paid in enumerate(rewards)
        for t in range(len(paid))
    ]
    np.testing.assert_allclose(of_turns(MtGrpo(weight=0.5)(batch), batch), expected, rtol=1e-9, atol=1e-9)


def test_golden_advantages_before_and_after_the_tools_result() -> None:
    early_R, late_R = mtgrpo_advantages(column([1, 0, 0, 1]), column([0.4, 0.2, 0, 0.2]), torch.zeros(4).long())
    np.testing.assert_allclose(early_R.numpy(), [2.089871, -0.865875, -2.089871, 0.865875], atol=1e-6)
    np.testing.assert_allclose(late_R.numpy(), [0.865875, -0.865875, -0.865875, 0.865875], atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_the_turn_reward_it_is_grpo_on_what_the_last_turn_was_paid(seed: int) -> None:
    rewards = drawn_rewards(np.random.default_rng(seed), GROUPS)
    batch = played(rewards, GROUPS)
    plain_R = group_advantages(column([paid[-1] for paid in rewards]), batch.group_R, epsilon=1e-4)
    found_T = MtGrpo(weight=0.0)(batch)
    torch.testing.assert_close(found_T[batch.trained_T], plain_R[batch.trajectory_T][batch.trained_T])


def test_a_group_of_one_and_equal_trajectories_have_advantage_exactly_0() -> None:
    for batch in (played([[0.3, 1.0]], [0]), played([[0.3, 0.1]] * 3, [0, 0, 0]), played([[], []], [0, 0])):
        assert not MtGrpo()(batch).any()
