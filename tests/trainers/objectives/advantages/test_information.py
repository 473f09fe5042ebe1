"""MIG and IGPO against loops over turns, golden gains, and sums that telescope."""

import math

import numpy as np
import pytest
import torch

from credit import column, drawn_rewards, of_turns, played
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import GroupAdvantage, Igpo, Mig, likelihood_gains, monotone_gains

GROUPS = [4, 4, 4, 9, 9, 2]
SEEDS = range(10)


def drawn(seed: int) -> tuple[list[list[float]], list[list[float]], TokenBatch]:
    """Rewards, log-probabilities before the first and after each turn, and the batch of both."""
    rng = np.random.default_rng(seed)
    rewards = drawn_rewards(rng, GROUPS)
    gold = [(-3 * rng.random(len(paid) + 1)).tolist() for paid in rewards]
    columns = {"gold_U": column([x for own in gold for x in own[1:]]), "gold_R": column([own[0] for own in gold])}
    return rewards, gold, played(rewards, GROUPS, columns=columns)


def scored(values: list[float]) -> list[float]:
    found: list[float] = []
    for value, group in zip(values, GROUPS, strict=True):
        rivals = [other for other, its in zip(values, GROUPS, strict=True) if its == group]
        alone = len(rivals) == 1
        found.append(0.0 if alone else float((value - np.mean(rivals)) / (np.std(rivals, ddof=1) + 1e-6)))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_mig_adds_the_outcomes_score_and_that_of_what_was_gained(seed: int) -> None:
    rewards, gold, batch = drawn(seed)
    gained = [max(own) - own[0] for own in gold]
    outcome, gain = scored([sum(paid) for paid in rewards]), scored(gained)
    expected = [2 * o + 0.5 * g for o, g, paid in zip(outcome, gain, rewards, strict=True) for _ in paid]
    found_T = Mig(gain=0.5, outcome=2.0)(batch)
    np.testing.assert_allclose(
        of_turns(found_T.masked_fill(~batch.trained_T, 0.0), batch), expected, rtol=1e-9, atol=1e-9
    )


def test_golden_gains_beyond_the_best_so_far() -> None:
    found_U = monotone_gains(column([-0.7, -0.9, -0.3, -0.35]), column([-1.2]), torch.zeros(4).long())
    np.testing.assert_allclose(found_U.numpy(), [0.5, 0, 0.4, 0], atol=1e-12)
    assert found_U.sum().item() == pytest.approx(0.9)


@pytest.mark.parametrize("seed", SEEDS)
def test_gains_add_up_to_what_there_is_at_the_end_less_what_there_was(seed: int) -> None:
    _, gold, batch = drawn(seed)
    args = batch.column("gold_U"), batch.column("gold_R"), batch.trajectory_U
    for place, own in enumerate(gold):
        turns_U = batch.trajectory_U == place
        assert monotone_gains(*args)[turns_U].sum().item() == pytest.approx(max(own) - own[0])
        assert likelihood_gains(*args)[turns_U].sum().item() == pytest.approx(math.exp(own[-1]) - math.exp(own[0]))


def test_only_reasoning_is_credited_with_what_it_gained() -> None:
    """Of a turn that is marked all but its action; of one that is an action and nothing else, all of it."""
    batch = played(
        [[0.0, 0.0], [0.0]],
        [0, 0],
        parts=[("plan", "", "action"), ("action",), ("action",)],
        columns={"gold_U": column([-1, -1, -2]), "gold_R": column([-2, -2])},
    )
    found = Mig()(batch)[batch.trained_T].tolist()
    assert found == pytest.approx([math.sqrt(0.5), math.sqrt(0.5), 0.0, math.sqrt(0.5), -math.sqrt(0.5)], abs=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_mig_without_gain_is_grpo(seed: int) -> None:
    _, _, batch = drawn(seed)
    torch.testing.assert_close(Mig(gain=0.0)(batch), GroupAdvantage()(batch), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gamma", [1.0, 0.8])
@pytest.mark.parametrize("seed", SEEDS)
def test_igpo_scores_what_was_paid_from_each_turn_on(seed: int, gamma: float) -> None:
    rewards, gold, batch = drawn(seed)
    follow: list[list[float]] = []
    for paid, own in zip(rewards, gold, strict=True):
        turn = [math.exp(own[t + 1]) - math.exp(own[t]) for t in range(len(paid) - 1)] + [sum(paid)]
        follow.append([sum(gamma**k * r for k, r in enumerate(turn[t:])) for t in range(len(turn))])
    expected: list[float] = []
    for after, group in zip(follow, GROUPS, strict=True):
        rivals = [x for other, its in zip(follow, GROUPS, strict=True) if its == group for x in other]
        for value in after:
            alone = GROUPS.count(group) == 1
            expected.append(0.0 if alone else float((value - np.mean(rivals)) / (np.std(rivals, ddof=1) + 1e-6)))
    np.testing.assert_allclose(of_turns(Igpo(gamma=gamma)(batch), batch), expected, rtol=1e-8, atol=1e-8)


def test_igpo_of_single_turns_is_grpo() -> None:
    batch = played(
        [[1.0], [0.0], [0.5], [3.0]], [0, 0, 0, 1], columns={"gold_U": -torch.rand(4), "gold_R": -torch.rand(4)}
    )
    own_T = batch.trained_T
    torch.testing.assert_close(Igpo()(batch)[own_T], GroupAdvantage()(batch)[own_T], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("part", [Mig(), Igpo()], ids=repr)
def test_a_group_of_one_and_equal_trajectories_have_advantage_0(part: Mig | Igpo) -> None:
    single = played([[0.3, 1.0]], [0], columns={"gold_U": column([-1, -2]), "gold_R": column([-3])})
    assert not part(single).any()
    equal = played([[0.7]] * 3, [0] * 3, columns={"gold_U": column([-1] * 3), "gold_R": column([-3] * 3)})
    assert not part(equal).any()
    nothing = played([[], []], [0, 0], columns={"gold_U": column([]), "gold_R": column([-1, -1])})
    assert not part(nothing).any()


def test_a_discount_beyond_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gamma=1\.5"):
        Igpo(gamma=1.5)
