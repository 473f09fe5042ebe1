"""GiGPO against loops over turns written from its formulas, its golden numbers, and what it says of a maze."""

from itertools import product
from typing import Literal

import numpy as np
import pytest
import torch

from credit import drawn_rewards, of_turns, played
from palaestra.trainers.objectives.advantages import Gigpo, GroupAdvantage, gigpo_advantages

Scale = Literal["mean", "mean-std"]
GROUPS = [4, 4, 4, 9, 9, 2]
SEEDS = range(12)


def by_loops(
    rewards: list[list[float]],
    groups: list[int],
    anchors: list[list[int]],
    *,
    weight: float,
    gamma: float,
    scale: str,
    cross_steps: bool,
    raw: bool,
) -> list[float]:
    def deviation(values: list[float]) -> float:
        return float(np.std(values, ddof=1)) + 1e-6 if scale == "mean-std" and len(values) > 1 else 1.0

    scores: dict[int, list[float]] = {}
    states: dict[tuple[int, int], list[float]] = {}
    follow = [[sum(gamma**k * r for k, r in enumerate(paid[t:])) for t in range(len(paid))] for paid in rewards]
    for paid, group, shown, after in zip(rewards, groups, anchors, follow, strict=True):
        scores.setdefault(group, []).extend([sum(paid)] * (len(paid) if cross_steps else 1))
        for anchor, value in zip(shown, after, strict=True):
            states.setdefault((group, anchor), []).append(value)
    found: list[float] = []
    for paid, group, shown, after in zip(rewards, groups, anchors, follow, strict=True):
        own = scores[group]
        episode = (sum(paid) - np.mean(own)) / deviation(own) if len(own) > 1 or not raw else sum(paid)
        if raw and len(own) == 1 and scale == "mean-std":
            episode = episode / (1 + 1e-6)
        for anchor, value in zip(shown, after, strict=True):
            rivals = states[group, anchor]
            step = (value - np.mean(rivals)) / deviation(rivals) if len(rivals) > 1 else 0.0
            found.append(float(episode + weight * step))
    return found


def anchored(rng: np.random.Generator, rewards: list[list[float]]) -> list[list[int]]:
    return [[int(rng.integers(0, 3)) * 10**12 for _ in paid] for paid in rewards]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("scale", "cross_steps", "raw"), list(product(["mean", "mean-std"], [True, False], [True, False]))
)
def test_advantages_are_those_of_loops_over_turns(seed: int, scale: Scale, cross_steps: bool, raw: bool) -> None:
    rng = np.random.default_rng(seed)
    rewards = drawn_rewards(rng, GROUPS)
    anchors = anchored(rng, rewards)
    batch = played(rewards, GROUPS, columns={"anchor_U": torch.tensor([a for shown in anchors for a in shown])})
    part = Gigpo(weight=0.7, gamma=0.9, scale=scale, cross_steps=cross_steps, alone="raw" if raw else "zero")
    expected = by_loops(rewards, GROUPS, anchors, weight=0.7, gamma=0.9, scale=scale, cross_steps=cross_steps, raw=raw)
    np.testing.assert_allclose(of_turns(part(batch), batch), expected, rtol=1e-9, atol=1e-9)


def golden(scale: Scale, weight: float) -> list[float]:
    found_U = gigpo_advantages(
        torch.tensor([1.0, 0.0], dtype=torch.float64),
        torch.tensor([0.0, 0, 1, 0, 0, 0], dtype=torch.float64),
        torch.tensor([0, 0, 0, 1, 1, 1]),
        torch.tensor([5, 5]),
        torch.tensor([0, 1, 2, 0, 0, 1]),
        weight=weight,
        scale=scale,
    )
    return found_U.tolist()


@pytest.mark.parametrize(
    ("scale", "weight", "expected"),
    [
        ("mean", 1.0, [1.101667, 0.975, 0.5, -0.800833, -0.800833, -0.975]),
        ("mean-std", 1.0, [2.067568, 1.619975, 0.912869, -1.490218, -1.490218, -1.619975]),
        ("mean", 0.0, [0.5, 0.5, 0.5, -0.5, -0.5, -0.5]),
    ],
)
def test_golden_advantages_of_two_trajectories(scale: Scale, weight: float, expected: list[float]) -> None:
    """As the authors' code gives them: a sees s0, s1, s2 and is paid 1 at the end, b sees s0, s0, s1 and is not."""
    np.testing.assert_allclose(golden(scale, weight), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("scale", "plain"), [("mean", GroupAdvantage(scale="none")), ("mean-std", GroupAdvantage(scale="group"))]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_without_step_weight_and_cross_steps_it_is_grpo(seed: int, scale: Scale, plain: GroupAdvantage) -> None:
    rng = np.random.default_rng(seed)
    rewards = drawn_rewards(rng, GROUPS)
    anchors = anchored(rng, rewards)
    batch = played(rewards, GROUPS, columns={"anchor_U": torch.tensor([a for shown in anchors for a in shown])})
    found_T = Gigpo(weight=0.0, cross_steps=False, scale=scale)(batch)
    own_T = batch.trained_T
    torch.testing.assert_close(found_T[own_T], plain(batch)[own_T], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scale", ["mean", "mean-std"])
def test_states_that_nobody_shares_say_nothing(scale: Scale) -> None:
    rewards = [[0.0, 1.0], [0.5, 0.0, 0.0]]
    batch = played(rewards, [0, 0], columns={"anchor_U": torch.arange(5)})
    assert torch.equal(Gigpo(scale=scale)(batch), Gigpo(scale=scale, weight=0.0)(batch))


def test_the_same_state_in_another_group_is_another_state() -> None:
    batch = played([[1.0], [0.0]], [0, 1], columns={"anchor_U": torch.tensor([7, 7])})
    assert not Gigpo()(batch).any()


@pytest.mark.parametrize("scale", ["mean", "mean-std"])
@pytest.mark.parametrize("cross_steps", [True, False])
def test_a_group_of_one_is_worth_nothing_unless_its_return_is_asked_for(scale: Scale, cross_steps: bool) -> None:
    batch = played([[3.0]], [0], columns={"anchor_U": torch.tensor([7])})
    assert of_turns(Gigpo(scale=scale, cross_steps=cross_steps)(batch), batch) == [0.0]
    leaked = of_turns(Gigpo(scale=scale, cross_steps=cross_steps, alone="raw")(batch), batch)
    assert leaked == [pytest.approx(3.0, rel=1e-5)]


@pytest.mark.parametrize("scale", ["mean", "mean-std"])
def test_equal_trajectories_have_advantage_exactly_0(scale: Scale) -> None:
    batch = played([[0.1, 0.7]] * 3, [0, 0, 0], columns={"anchor_U": torch.tensor([1, 2] * 3)})
    assert not Gigpo(scale=scale)(batch).any()


def test_the_wrong_turn_at_a_junction_is_worse_though_both_arrive() -> None:
    """At the junction J one goes straight to the exit, the other into a dead end and back; gamma is below 1."""
    start, junction, dead_end = 0, 1, 2
    rewards = [[0.0, 1.0], [0.0, 0.0, 0.0, 1.0]]
    shown = [start, junction, start, junction, dead_end, junction]
    batch = played(rewards, [0, 0], columns={"anchor_U": torch.tensor(shown)})
    right, wrong, mended = (of_turns(Gigpo()(batch), batch)[place] for place in (1, 3, 5))
    assert wrong < right
    assert wrong < mended
    assert of_turns(Gigpo(gamma=1.0)(batch), batch) == [0.0] * 6


def test_a_batch_without_turns_has_no_advantage() -> None:
    batch = played([[], []], [0, 0], columns={"anchor_U": torch.zeros(0, dtype=torch.long)})
    assert not Gigpo()(batch).any()


@pytest.mark.parametrize("gamma", [-0.1, 1.5])
def test_a_discount_beyond_its_range_is_refused(gamma: float) -> None:
    with pytest.raises(ValueError, match=rf"gamma={gamma}: .*between 0 and 1"):
        Gigpo(gamma=gamma)
