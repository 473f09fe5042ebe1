"""HiPER's streams against a loop over each trajectory's segments, golden numbers, and what is left without segments."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from credit import column, played
from palaestra.trainers.data.batch import PARTS, TokenBatch
from palaestra.trainers.objectives.advantages import Hiper, Streams, hiper_streams

SEEDS = range(15)
SETTINGS = [(1.0, 1.0, 0.95), (0.9, 0.8, 0.7), (0.5, 0.0, 1.0)]


@dataclass
class Played:
    """One trajectory, as lists."""

    paid: list[float]
    high: list[float]
    low: list[float]
    term: list[float]
    switch: list[int]
    done: bool


def by_segments(one: Played, gamma: float, lam: float, lam_segment: float, bootstrap: bool) -> list[list[float]]:
    """Low, high and switch advantages of a trajectory, segment after segment, as the paper defines them."""
    turns = len(one.paid)
    starts = [t for t in range(turns) if t == 0 or one.switch[t]]
    low, high, term = [0.0] * turns, [0.0] * turns, [0.0] * turns
    later_high = 0.0
    for k in reversed(range(len(starts))):
        start = starts[k]
        after = starts[k + 1] if k + 1 < len(starts) else None
        end = turns - 1 if after is None else after - 1
        if after is not None:
            tail = low_tail = one.high[after]
        elif one.done or not bootstrap:
            tail = low_tail = 0.0
        else:
            tail, low_tail = one.high[start], one.low[end]
        advantage = 0.0
        for t in range(end, start - 1, -1):
            expected = low_tail if t == end else one.low[t + 1]
            advantage = one.paid[t] + gamma * expected - one.low[t] + gamma * lam * advantage
            low[t] = advantage
            ahead = sum(gamma ** (j - t) * one.paid[j] for j in range(t, end + 1)) + gamma ** (end - t + 1) * tail
            term[t] = ahead - one.term[t]
        length = end - start + 1
        total = sum(gamma**j * one.paid[start + j] for j in range(length)) + gamma**length * tail
        later_high = total - one.high[start] + gamma**length * lam_segment * later_high
        high[start] = later_high
    return [low, high, term]


def draw(rng: np.random.Generator) -> Played:
    turns = int(rng.integers(1, 8))
    paid, high, low, term = rng.normal(size=(4, turns)).tolist()
    return Played(paid, high, low, term, rng.integers(0, 2, turns).tolist(), bool(rng.integers(0, 2)))


def streams(some: list[Played], *, unread: float = math.nan, **settings: float | bool) -> Streams:
    """Of all at once; V_high where no segment begins is `unread`."""
    high = [h if t == 0 or one.switch[t] else unread for one in some for t, h in enumerate(one.high)]
    values = zip(high, [v for one in some for v in one.low], [v for one in some for v in one.term], strict=True)
    return hiper_streams(
        column([r for one in some for r in one.paid]),
        column(list(values)),
        torch.tensor([s for one in some for s in one.switch]),
        torch.tensor([one.done for one in some]),
        torch.tensor([place for place, one in enumerate(some) for _ in one.paid]),
        **settings,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize(("gamma", "lam", "lam_segment"), SETTINGS)
@pytest.mark.parametrize("seed", SEEDS)
def test_streams_are_those_of_a_loop_over_segments(
    seed: int, gamma: float, lam: float, lam_segment: float, bootstrap: bool
) -> None:
    rng = np.random.default_rng(seed)
    some = [draw(rng) for _ in range(7)]
    found = streams(some, gamma=gamma, lambda_turn=lam, lambda_segment=lam_segment, bootstrap_truncated=bootstrap)
    for place, found_U in enumerate((found.low_U, found.high_U, found.switch_U)):
        expected = [x for one in some for x in by_segments(one, gamma, lam, lam_segment, bootstrap)[place]]
        np.testing.assert_allclose(found_U.numpy(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_critic_is_to_expect_its_own_estimate_and_what_came_of_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    some = [draw(rng) for _ in range(5)]
    found = streams(some, gamma=0.9)
    starts = [t == 0 or bool(one.switch[t]) for one in some for t in range(len(one.paid))]
    assert found.boundary_U.tolist() == starts
    low = column([v for one in some for v in one.low])
    term = column([v for one in some for v in one.term])
    high = column([v for one in some for v in one.high]) * found.boundary_U
    torch.testing.assert_close(found.low_target_U, found.low_U + low)
    torch.testing.assert_close(found.high_target_U, found.high_U + high)
    torch.testing.assert_close(found.switch_target_U, found.switch_U + term)


GOLDEN = Played([0, 0, 0, 1], [0.4, 0, 0.7, 0], [0.2, 0.3, 0.5, 0.6], [0.35, 0.45, 0.55, 0.8], [1, 0, 1, 0], True)


def golden(*, done: bool, bootstrap: bool) -> Streams:
    one = Played(GOLDEN.paid, GOLDEN.high, GOLDEN.low, GOLDEN.term, GOLDEN.switch, done)
    return streams([one], gamma=0.9, lambda_turn=0.8, lambda_segment=0.95, bootstrap_truncated=bootstrap)


def test_golden_streams_of_an_episode_that_the_world_ended() -> None:
    """As the authors' code gives them."""
    found = golden(done=True, bootstrap=True)
    np.testing.assert_allclose(found.low_U.numpy(), [0.3076, 0.33, 0.328, 0.4], atol=1e-12)
    np.testing.assert_allclose(found.high_U.numpy(), [0.3209, 0, 0.2, 0], atol=1e-12)
    np.testing.assert_allclose(found.switch_U.numpy(), [0.217, 0.18, 0.35, 0.2], atol=1e-12)


def test_golden_streams_of_an_episode_that_was_cut_short() -> None:
    """As the authors' code gives them."""
    found = golden(done=False, bootstrap=True)
    np.testing.assert_allclose(found.low_U.numpy(), [0.3076, 0.33, 0.7168, 0.94], atol=1e-12)
    np.testing.assert_allclose(found.high_U.numpy(), [0.757206, 0, 0.767, 0], atol=1e-6)
    np.testing.assert_allclose(found.switch_U.numpy(), [0.217, 0.18, 0.917, 0.83], atol=1e-12)


def test_without_bootstrap_an_episode_cut_short_is_one_that_ended() -> None:
    cut, ended = golden(done=False, bootstrap=False), golden(done=True, bootstrap=False)
    for name in ("low_U", "high_U", "switch_U"):
        assert torch.equal(getattr(cut, name), getattr(ended, name))


def flat_gae(paid: list[float], value: list[float], gamma: float, lam: float) -> list[float]:
    found, advantage = [0.0] * len(paid), 0.0
    for t in reversed(range(len(paid))):
        following = value[t + 1] if t + 1 < len(paid) else 0.0
        advantage = paid[t] + gamma * following - value[t] + gamma * lam * advantage
        found[t] = advantage
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_with_every_turn_kept_the_low_stream_is_gae_and_the_high_one_the_return(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = draw(rng)
    one.switch, one.done = [0] * len(one.paid), True
    found = streams([one], gamma=0.9, lambda_turn=0.8, lambda_segment=0.7)
    np.testing.assert_allclose(found.low_U.numpy(), flat_gae(one.paid, one.low, 0.9, 0.8), atol=1e-12)
    total = sum(0.9**t * r for t, r in enumerate(one.paid))
    np.testing.assert_allclose(found.high_U.numpy(), [total - one.high[0]] + [0] * (len(one.paid) - 1), atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_with_every_turn_switched_the_high_stream_is_gae_and_the_low_one_a_single_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = draw(rng)
    one.switch, one.done = [1] * len(one.paid), True
    found = streams([one], gamma=0.9, lambda_turn=0.8, lambda_segment=0.7)
    np.testing.assert_allclose(found.high_U.numpy(), flat_gae(one.paid, one.high, 0.9, 0.7), atol=1e-12)
    after = [*one.high[1:], 0.0]
    single = [r + 0.9 * v - low for r, v, low in zip(one.paid, after, one.low, strict=True)]
    np.testing.assert_allclose(found.low_U.numpy(), single, atol=1e-12)


FULL = ("switch", "plan", "plan", "action")
"""A planner's turn."""


def planned(**columns: Tensor) -> TokenBatch:
    """Four turns of the golden episode, the last of which has no action, and one turn of nothing but an action."""
    base = {
        "values_UH": column([[0.4, 0.2, 0.35], [9, 0.3, 0.45], [0.7, 0.5, 0.55], [9, 0.6, 0.8], [0.1, 0.2, 0.3]]),
        "switch_U": torch.tensor([1, 0, 1, 0, 0]),
        "done_R": torch.tensor([1, 1]),
        "goal_U": torch.tensor([3, 3, 4, 4, 0]),
        "invalid_U": torch.zeros(5),
    }
    parts = [FULL, FULL, FULL, ("switch", "plan", ""), ("action",)]
    return played([[0, 0, 0, 1], [1]], [0, 0], parts=parts, columns=base | columns)


def shown(value_T: Tensor, batch: TokenBatch) -> list[tuple[str, float]]:
    own_T = batch.trained_T
    return [
        (PARTS[part], round(x, 6))
        for part, x in zip(batch.part_T[own_T].tolist(), value_T[own_T].tolist(), strict=True)
    ]


def test_each_part_of_a_turn_has_its_own_stream() -> None:
    batch = planned()
    found = shown(Hiper(gamma=0.9, lambda_turn=0.8)(batch), batch)
    assert found == [
        ("switch", 0.217), ("plan", 0.3209), ("plan", 0.3209), ("action", 0.3076),
        ("switch", 0.18), ("plan", 0.0), ("plan", 0.0), ("action", 0.33),
        ("switch", 0.35), ("plan", 0.2), ("plan", 0.2), ("action", 0.328),
        # Without an action every token has the low stream's 0.4 beside its own.
        ("switch", 0.6), ("plan", 0.4), ("", 0.4),
        ("action", 0.8),
    ]  # fmt: skip


def test_normalised_streams_have_mean_0_and_deviation_1_over_the_turns_that_have_them() -> None:
    batch = planned()
    part = Hiper(gamma=0.9, lambda_turn=0.8, normalised=True)
    found = shown(part(batch), batch)
    plans = [found[1][1], found[9][1]]
    assert plans == pytest.approx([1.0, -1.0], abs=1e-6)  # 0.3209 and 0.2
    switches = np.array([0.217, 0.18, 0.35, 0.2])
    acts = np.array([0.3076, 0.33, 0.328, 0.4, 0.8])
    expected = (switches[:3] - switches.mean()) / switches.std()
    np.testing.assert_allclose([found[0][1], found[4][1], found[8][1]], expected, atol=2e-6)
    expected = (acts - acts.mean()) / acts.std()
    np.testing.assert_allclose(
        [found[3][1], found[7][1], found[11][1], found[14][1], found[15][1]], expected, atol=2e-6
    )


def test_a_normalised_stream_that_no_token_has_stays_finite() -> None:
    batch = played(
        [[1.0]],
        [0],
        columns={
            "values_UH": column([[0.0, 0.0, 0.0]]),
            "switch_U": torch.tensor([0]),
            "done_R": torch.tensor([1]),
            "goal_U": torch.tensor([0]),
            "invalid_U": torch.tensor([0]),
        },
    )
    assert not Hiper(normalised=True)(batch).any()


@pytest.mark.parametrize(
    ("part", "extra"),
    [
        (Hiper(keep=-0.3), [0, -0.3, 0, -0.3, -0.3]),
        (Hiper(keep=-0.4, keep_mode="normalised"), [0, -0.1, 0, -0.1, 0]),
        (Hiper(inconsistent=-0.5), [0, -0.5, 0, 0, 0]),
        (Hiper(invalid=-0.1), [-0.1, 0, 0, 0, -0.1]),
    ],
    ids=repr,
)
def test_penalties_are_paid_before_anything_is_estimated(part: Hiper, extra: list[float]) -> None:
    """Turns 1 and 3 keep, turn 1 with another subgoal, turn 4 is an episode of its own; 0 and 4 are invalid."""
    batch = planned(goal_U=torch.tensor([3, -5, 4, 4, 4]), invalid_U=torch.tensor([1, 0, 0, 0, 1]))
    paid_U = batch.reward_U + column([float(x) for x in extra])
    names = ("values_UH", "switch_U", "done_R")
    values_UH, switch_U, done_R = (batch.column(name) for name in names)
    plain = hiper_streams(paid_U, values_UH, switch_U, done_R, batch.trajectory_U)
    found = part.streams(batch)
    for name in ("low_U", "high_U", "switch_U", "switch_target_U"):
        torch.testing.assert_close(getattr(found, name), getattr(plain, name), rtol=0, atol=1e-12)


def test_a_share_of_kept_turns_costs_the_episode_its_share_of_the_penalty() -> None:
    batch = planned()
    fee_U = (
        Hiper(keep=-3.5, keep_mode="normalised").streams(batch).switch_target_U - Hiper().streams(batch).switch_target_U
    )
    assert fee_U[batch.trajectory_U == 1].tolist() == [0.0]
    assert fee_U[[1, 3]].sum().item() == pytest.approx(-3.5 * 0.5)


def test_a_subgoal_that_is_missing_cannot_be_inconsistent() -> None:
    batch = planned(goal_U=torch.tensor([0, 5, 4, 0, -4]))
    found, plain = Hiper(inconsistent=-0.5).streams(batch), Hiper().streams(batch)
    assert torch.equal(found.low_U, plain.low_U)


def test_a_batch_without_turns_has_no_streams() -> None:
    found = hiper_streams(
        torch.zeros(0), torch.zeros(0, 3), torch.zeros(0), torch.ones(2), torch.zeros(0, dtype=torch.long)
    )
    assert len(found.low_U) == len(found.high_target_U) == 0


@pytest.mark.parametrize("name", ["gamma", "lambda_turn", "lambda_segment"])
def test_a_discount_beyond_its_range_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}=1\.5: .*between 0 and 1"):
        Hiper(**{name: 1.5})  # type: ignore[arg-type]
