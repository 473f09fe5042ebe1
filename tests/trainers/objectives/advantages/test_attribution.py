"""ADCA against a loop over trajectories and turns, and GRPO where the judge's word counts for nothing."""

import math
from typing import Literal

import numpy as np
import pytest
import torch

from credit import column, drawn_rewards, of_turns, played
from palaestra.trainers.objectives.advantages import Adca, shares

GROUPS = [4, 4, 4, 9, 9, 2]
SEEDS = range(10)
Where = Literal["last", "all"]
Scheme = Literal["allocation", "decoupled"]


def by_loops(
    rewards: list[list[float]], labels: list[list[int]], groups: list[int], alpha: float, where: str, scheme: Scheme
) -> list[float]:
    raw: list[list[float]] = []
    for paid, own in zip(rewards, labels, strict=True):
        if scheme == "decoupled":
            raw.append([0.2 if label else -0.2 for label in own])
            continue
        success = sum(paid) > 0.5
        weights = [1.0 if bool(label) == success else 0.2 for label in own]
        raw.append([(1 if success else -1) * w / sum(weights) for w in weights])
    found: list[float] = []
    for place, shared in enumerate(raw):
        rivals = [other for other, group in enumerate(groups) if group == groups[place]]
        mean = float(np.mean([np.mean(raw[other]) for other in rivals]))
        variance = float(np.mean([np.mean([(x - mean) ** 2 for x in raw[other]]) for other in rivals]))
        returns = [sum(rewards[other]) for other in rivals]
        deviation = float(np.std(returns))
        outcome = (sum(rewards[place]) - float(np.mean(returns))) / (deviation if deviation > 1e-8 else 1.0)
        combined = [alpha * (x - mean) / math.sqrt(variance + 1e-8) for x in shared]
        for t in range(len(shared)):
            combined[t] += outcome if where == "all" or t == len(shared) - 1 else 0.0
        found += [sum(combined[t:]) if len(rivals) > 1 else 0.0 for t in range(len(shared))]
    return found


@pytest.mark.parametrize("scheme", ["allocation", "decoupled"])
@pytest.mark.parametrize("where", ["last", "all"])
@pytest.mark.parametrize("seed", SEEDS)
def test_advantages_are_those_of_a_loop_over_turns(seed: int, where: Where, scheme: Scheme) -> None:
    rng = np.random.default_rng(seed)
    rewards = drawn_rewards(rng, GROUPS)
    labels = [rng.integers(0, 2, len(paid)).tolist() for paid in rewards]
    batch = played(rewards, GROUPS, columns={"label_U": torch.tensor([x for own in labels for x in own])})
    found = of_turns(Adca(alpha=0.6, outcome=where, scheme=scheme)(batch), batch)
    np.testing.assert_allclose(found, by_loops(rewards, labels, GROUPS, 0.6, where, scheme), rtol=1e-6, atol=1e-9)


def test_shares_add_up_to_the_sign_of_the_outcome() -> None:
    share_U = shares(torch.tensor([1, 0, 1, 0, 1]), torch.tensor([True, False]), torch.tensor([0, 0, 0, 1, 1]))
    expected = [1 / 2.2, 0.2 / 2.2, 1 / 2.2, -1 / 1.2, -0.2 / 1.2]
    np.testing.assert_allclose(share_U.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_the_judge_it_is_grpo_with_the_populations_deviation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards = drawn_rewards(rng, GROUPS)
    labels = [x for paid in rewards for x in rng.integers(0, 2, len(paid)).tolist()]
    batch = played(rewards, GROUPS, columns={"label_U": torch.tensor(labels)})
    returns, groups = np.array([sum(paid) for paid in rewards]), np.array(GROUPS)
    expected: list[float] = []
    for paid, value, group in zip(rewards, returns, groups, strict=True):
        own = returns[groups == group]
        expected += [(value - own.mean()) / (own.std() or 1.0)] * len(paid)
    np.testing.assert_allclose(of_turns(Adca(alpha=0.0)(batch), batch), expected, atol=1e-9)


def test_a_bad_turn_of_a_success_is_worth_less_than_a_good_one() -> None:
    batch = played([[0, 1], [0, 0]], [0, 0], columns={"label_U": torch.tensor([1, 1, 1, 1])})
    good = of_turns(Adca()(batch), batch)
    bad = of_turns(Adca()(batch.with_columns({"label_U": torch.tensor([1, 0, 1, 1])})), batch)
    assert bad[1] < good[1]


def test_a_trajectory_without_rivals_and_equal_ones_have_advantage_0() -> None:
    single = played([[0.0, 1.0]], [0], columns={"label_U": torch.tensor([1, 0])})
    assert not Adca()(single).any()
    equal = played([[0.0, 0.0, 1.0]] * 3, [0] * 3, columns={"label_U": torch.ones(9)})
    assert not Adca()(equal).any()
    nothing = played([[], []], [0, 0], columns={"label_U": torch.zeros(0)})
    assert not Adca()(nothing).any()


def test_shares_of_nothing_are_0() -> None:
    found_U = shares(torch.tensor([1, 1]), torch.tensor([False]), torch.tensor([0, 0]), inconsistent=0.0)
    assert not found_U.any()
    batch = played([[0, 0], [0, 0]], [0, 0], columns={"label_U": column([1, 1, 1, 1])})
    assert Adca(inconsistent=0.0)(batch).isfinite().all()


@pytest.mark.parametrize("setting", [{"consistent": -1.0}, {"consistent": 0.0, "inconsistent": 0.0}])
def test_shares_below_0_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="not negative"):
        Adca(**setting)  # type: ignore[arg-type]
