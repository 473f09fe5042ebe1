"""Blockwise advantages against means in numpy, golden numbers, and what is left of them with a single block."""

from typing import get_args

import numpy as np
import pytest
import torch

from credit import column, drawn_rewards, of_turns, played
from palaestra.trainers.objectives.advantages import BlockwiseAdvantage, GroupAdvantage, block_advantages
from palaestra.trainers.objectives.advantages.blocks import Baseline

GROUPS = [4, 4, 4, 9, 9, 2]
SEEDS = range(10)
BASELINES: tuple[Baseline, ...] = get_args(Baseline)


def by_loops(rewards: list[list[float]], groups: list[int], baseline: str) -> list[float]:
    blocks = [
        (group, t, round(sum(paid[:t]), 4), reward)
        for paid, group in zip(rewards, groups, strict=True)
        for t, reward in enumerate(paid)
    ]

    def mean(*, group: int | None = None, block: int, before: float | None = None) -> list[float]:
        return [r for g, t, o, r in blocks if t == block and group in (None, g) and before in (None, o)]

    found: list[float] = []
    for group, block, before, reward in blocks:
        if block == 0 or baseline == "group":
            base = float(np.mean(mean(group=group, block=block)))
        elif baseline == "batch":
            base = float(np.mean(mean(block=block)))
        elif baseline == "outcome":
            alike = mean(group=group, block=block, before=before)
            base = float(np.mean(alike if len(alike) > 1 else mean(block=block, before=before)))
        else:
            base = 0.0
        found.append(reward - base)
    return found


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("seed", SEEDS)
def test_advantages_are_rewards_less_the_mean_of_their_like(seed: int, baseline: Baseline) -> None:
    rewards = drawn_rewards(np.random.default_rng(seed), GROUPS)
    batch = played(rewards, GROUPS)
    found = of_turns(BlockwiseAdvantage(baseline=baseline, balanced=False)(batch), batch)
    np.testing.assert_allclose(found, by_loops(rewards, GROUPS, baseline), atol=1e-12)


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("outcome", [0.2, -0.2, -0.1, 0.2, -0.1]),
        ("group", [0.5, 0.1, -0.3, 0.0, -0.3]),
        ("none", [1, 0.6, 0.2, 0.5, 0.2]),
    ],
)
def test_golden_advantages_of_a_second_block(baseline: Baseline, expected: list[float]) -> None:
    found_X = block_advantages(
        column([1, 0.6, 0.2, 0.5, 0.2]),
        torch.ones(5).long(),
        torch.zeros(5).long(),
        torch.tensor([1, 1, 0, 0, 0]),
        baseline=baseline,
    )
    np.testing.assert_allclose(found_X.numpy(), expected, atol=1e-12)


def test_an_outcome_that_nobody_of_the_group_shares_is_held_against_the_batch() -> None:
    found_X = block_advantages(
        column([1.0, 0.0, 0.5, 0.25]),
        torch.ones(4).long(),
        torch.tensor([0, 0, 1, 1]),
        torch.tensor([1, 0, 1, 2]),
    )
    assert found_X.tolist() == [0.25, 0.0, -0.25, 0.0]


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("balanced", [True, False])
def test_a_single_turn_has_the_advantage_over_the_groups_mean(baseline: Baseline, balanced: bool) -> None:
    batch = played([[1.0], [0.25], [0.5], [3.0]], [0, 0, 0, 1])
    found_T = BlockwiseAdvantage(baseline=baseline, balanced=balanced)(batch)
    own_T = batch.trained_T
    torch.testing.assert_close(found_T[own_T], GroupAdvantage(scale="none")(batch)[own_T], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("baseline", ["batch", "group"])
def test_equal_rewards_are_no_better_than_each_other(baseline: Baseline) -> None:
    batch = played([[0.1, 0.7, 0.2]] * 3, [0, 0, 0])
    assert not BlockwiseAdvantage(baseline=baseline)(batch).any()


def test_prefixes_that_were_paid_the_same_in_another_order_are_alike() -> None:
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floating point."""
    batch = played([[0.1, 0.2, 0.3, 1.0], [0.3, 0.2, 0.1, 0.0]], [0, 0])
    found = of_turns(BlockwiseAdvantage(balanced=False)(batch), batch)
    assert [found[3], found[7]] == [0.5, -0.5]


def test_balanced_blocks_weigh_the_same_in_a_mean_over_the_trajectorys_tokens() -> None:
    parts = [("action",) * 3, ("action",), ("action",) * 2, ("action",) * 2]
    batch = played([[1.0, 0.5], [0.0, 0.25]], [0, 0], parts=parts)
    plain = of_turns(BlockwiseAdvantage(baseline="group", balanced=False)(batch), batch)
    even_T = BlockwiseAdvantage(baseline="group")(batch)
    for trajectory in range(2):
        mean = even_T[batch.trained_T & (batch.trajectory_T == trajectory)].mean().item()
        assert mean == pytest.approx(sum(plain[2 * trajectory : 2 * trajectory + 2]))


def test_a_batch_without_turns_has_no_advantage() -> None:
    assert not BlockwiseAdvantage()(played([[], []], [0, 0])).any()
