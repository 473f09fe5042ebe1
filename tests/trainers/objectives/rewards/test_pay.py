"""Pay of the trainer's own: what each option makes of returns, turn by turn in plain numbers, and what it refuses."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from graded import graded, many, numbers, reals
from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.objectives.parts import Reward
from palaestra.trainers.objectives.rewards import PayBounded, PayHarmScale, PaySolved, PayUnfinished
from palaestra.trainers.updates import reshape_rewards

PAID = [[20.0, 30.0], [5.0, -80.0], [], [60.0], [30.0, 10.0, -10.0]]


def paid() -> TokenBatch:
    """Returns of 50, -75, none, 60 and 30; harm of 80 in the second and 10 in the last."""
    return graded(
        [[1] * len(turns) for turns in PAID],
        rewards=PAID,
        columns={
            "passed_R": [1, 0, 1, 0, 0],
            "unfinished_R": [0, 0, 1, 1, 1],
            "harm_U": [0, 0, 0, 80, 0, 0, 0, 10],
            "total_R": [100] * 5,
        },
    )


@pytest.mark.parametrize(
    ("reward", "expected"),
    [
        (PaySolved(), [0, 1, 0, 0, 0, 0, 0, 0]),
        (PaySolved(amount=100), [0, 100, 0, 0, 0, 0, 0, 0]),
        (PayBounded(), [20, 30, 5, -5, 60, 30, 10, -10]),
        (PayBounded(least=-10, most=40), [20, 20, 5, -15, 40, 30, 10, -10]),
        (PayHarmScale(factor=0), [20, 30, 5, 0, 60, 30, 10, 0]),
        (PayHarmScale(factor=2), [20, 30, 5, -160, 60, 30, 10, -20]),
        (PayHarmScale(factor=0.25), [20, 30, 5, -20, 60, 30, 10, -2.5]),
        (PayUnfinished(), [20, 30, 5, -80, 0, 30, 10, -40]),
        (PayUnfinished(most=30), [20, 30, 5, -80, 30, 30, 10, -10]),
    ],
    ids=repr,
)
def test_each_option_pays_what_it_says(reward: Reward, expected: list[float]) -> None:
    """Golden numbers by hand. The trajectory without a turn has nothing to be paid for."""
    turns = [turn for own in PAID for turn in own]
    assert len(turns) == 8
    assert reward(paid()).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_bounds_and_caps_are_those_of_plain_python(seed: int) -> None:
    batch = many(seed)
    own = [[u for u, owner in enumerate(batch.trajectory_U.tolist()) if owner == r] for r in range(batch.trajectories)]
    ended = [float(r % 2) for r in range(batch.trajectories)]
    batch = batch.with_columns({"unfinished_R": reals(ended)})
    options: list[tuple[Reward, Callable[[float, float], float]]] = [
        (PayBounded(least=0.5, most=2.5), lambda total, _: min(max(total, 0.5), 2.5)),
        (PayUnfinished(most=1.0), lambda total, cut: min(total, 1.0) if cut else total),
    ]
    for reward, pay in options:
        found, before = numbers(reward(batch)), numbers(batch.reward_U)
        for turns, cut in zip(own, ended, strict=True):
            if turns:
                total = before[turns].sum()
                assert found[turns].sum() == pytest.approx(pay(total, cut))
                assert (found[turns[:-1]] == before[turns[:-1]]).all()


@pytest.mark.parametrize("reward", [PayBounded(least=None), PayHarmScale(factor=1), PayUnfinished(most=None)], ids=repr)
def test_at_neutral_settings_rewards_stay_as_they_are(reward: Reward) -> None:
    batch = paid()
    assert torch.equal(reward(batch), batch.reward_U)


@pytest.mark.parametrize("reward", [PaySolved(), PayBounded(), PayHarmScale(factor=3), PayUnfinished()], ids=repr)
def test_what_is_given_stays_as_it_is(reward: Reward) -> None:
    batch, same = paid(), paid()
    reward(batch)
    assert batch.equals(same)


def test_the_rubrics_verdict_and_points_stay_what_they_are() -> None:
    """Pay changes returns; the columns that scores are reported from do not move."""
    built = ObjectiveConfig(parts={"rewards": ["solved"], "unit": 1}).build()
    batch = paid()
    batch = replace(batch, return_R=reals([sum(turns) for turns in PAID]))
    now = reshape_rewards(batch, built)
    assert now.return_R.tolist() == [1, 0, 0, 0, 0]
    for name in ("passed_R", "total_R"):
        assert torch.equal(now.column(name), batch.column(name))


def test_harm_is_scaled_in_the_objectives_unit() -> None:
    built = ObjectiveConfig(parts={"unit": 1, "rewards": [{"part": "harm-scale", "factor": 2}]}).build()
    batch = replace(paid(), return_R=reals([sum(turns) for turns in PAID]))
    assert reshape_rewards(batch, built).return_R.tolist() == pytest.approx([0.5, -1.55, 0, 0.6, 0.2])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: PaySolved(amount=0), "amount=0"),
        (lambda: PaySolved(amount=float("inf")), "amount=inf"),
        (lambda: PayBounded(least=1, most=1), "least must be below most"),
        (lambda: PayBounded(least=float("nan")), "least=nan"),
        (lambda: PayBounded(least=None, most=float("nan")), "most=nan"),
        (lambda: PayUnfinished(most=float("nan")), "most=nan"),
        (lambda: PayHarmScale(factor=-1), "factor=-1"),
        (lambda: PayHarmScale(factor=float("nan")), "factor=nan"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(make: Callable[[], Reward], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


def test_options_that_would_have_no_effect_are_refused() -> None:
    with pytest.raises(ConfigError, match="needs no bounds"):
        ObjectiveConfig(parts={"rewards": ["solved", "bounded"]})
    with pytest.raises(ConfigError, match="would have no effect"):
        ObjectiveConfig(preset="cm2", parts={"rewards": ["solved"]})


def test_harm_is_not_scaled_where_nothing_is_taken_for_it() -> None:
    """Behind `solved`, a lower price would be paid out."""
    for rewards in (["solved", {"part": "harm-scale", "factor": 0.2}], [{"part": "harm-scale", "factor": 2}, "solved"]):
        with pytest.raises(ConfigError, match="would pay for harm"):
            ObjectiveConfig(parts={"rewards": rewards})


@pytest.mark.parametrize("part", ["solved", "ungraded"])
def test_what_pays_in_place_of_all_rewards_comes_before_changes_of_them(part: str) -> None:
    bonus = {"part": "tool-bonus", "most": 3}
    with pytest.raises(ConfigError, match=f"tool-bonus before it would have no effect; let {part} come first"):
        ObjectiveConfig(parts={"rewards": [bonus, part]})
    ObjectiveConfig(parts={"rewards": [{"part": "unit", "size": 100}, part, bonus]})
