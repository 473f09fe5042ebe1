"""A judge that errs: which verdicts turn, what that is worth, and that the same ones turn again. K criteria."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from graded import graded, numbers, reals
from palaestra.errors import ConfigError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.objectives.rewards import FlippedVerdicts
from palaestra.trainers.updates import reshape_rewards

PAID = [[20.0, 30.0], [5.0], [], [0.0, -80.0]]
FLIP = [[-50, 50, -60, -20], [95, 5, -60, -20], [95, 5, -60, 0], [95, 5, 60, 20]]
CHANCE = [[0.1, 0.3, 0.2, 0.9], [0.5, 0.5, 0.5, 0.5], [0.0, 0.0, 0.0, 0.0], [0.21, 0.99, 0.0, 0.2]]


def judged() -> TokenBatch:
    """Two expectations and two prohibitions; the third trajectory has no turn, and its rubric a criterion less."""
    return graded(
        [[1] * len(turns) for turns in PAID],
        rewards=PAID,
        columns={"flip_RK": np.array(FLIP), "chance_RK": np.array(CHANCE), "total_R": [100] * 4, "passed_R": [0] * 4},
    )


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, [20, 30, 5, 0, -80]),
        (0.15, [20, -20, 5, 0, -20]),
        (0.21, [20, -80, 5, 0, 0]),
        (0.5, [20, -30, 5, 0, 95]),
        (1.0, [20, -50, 25, 0, 100]),
    ],
)
def test_verdicts_whose_chance_is_below_the_share_turn(share: float, expected: list[float]) -> None:
    """Golden numbers by hand; a chance that equals the share is not below it."""
    assert FlippedVerdicts(share=share)(judged()).tolist() == expected


def test_the_expected_return_is_a_part_of_the_return_and_a_number_of_the_tasks() -> None:
    """(1 - 2 share) R + share (all points won - all points taken), by the mean over 20,000 judges."""
    share, judges = 0.21, 20_000
    wins, takes = np.array([60.0, 40.0]), np.array([80.0, 20.0])
    for met, broken in (((1, 1), (0, 0)), ((1, 0), (0, 1)), ((0, 0), (1, 1))):
        points = float(wins @ met - takes @ broken)
        flip = [*np.where(met, -wins, wins), *np.where(broken, takes, -takes)]
        draws = np.random.default_rng(7).random((judges, 4))
        batch = graded(
            [[1]] * judges,
            rewards=[[points]] * judges,
            columns={"flip_RK": np.tile(flip, (judges, 1)), "chance_RK": draws},
        )
        found = numbers(FlippedVerdicts(share=share)(batch))
        expected = (1 - 2 * share) * points + share * (wins.sum() - takes.sum())
        error = np.sqrt(share * (1 - share) * (np.square(flip).sum()) / judges)
        assert found.mean() == pytest.approx(expected, abs=5 * error)


def test_neutral_it_leaves_rewards_and_it_never_writes_into_what_it_reads() -> None:
    batch, same = judged(), judged()
    assert torch.equal(FlippedVerdicts(share=0.0)(batch), batch.reward_U)
    FlippedVerdicts(share=0.5)(batch)
    assert batch.equals(same)


def test_points_flip_in_the_objectives_unit() -> None:
    built = ObjectiveConfig(parts={"unit": 1, "rewards": [{"part": "flipped", "share": 0.15}]}).build()
    batch = replace(judged(), return_R=reals([sum(turns) for turns in PAID]))
    now = reshape_rewards(batch, built)
    assert now.return_R.tolist() == pytest.approx([0.0, 0.05, 0.0, -0.2])
    assert torch.equal(now.column("passed_R"), batch.column("passed_R"))


@pytest.mark.parametrize("share", [-0.01, 1.01, float("nan")])
def test_a_share_that_is_no_probability_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="lies between 0 and 1"):
        FlippedVerdicts(share=share)


def test_without_a_share_or_beside_the_outcome_alone_it_is_refused() -> None:
    with pytest.raises(ConfigError, match="share has no default"):
        ObjectiveConfig(parts={"rewards": ["flipped"]})
    with pytest.raises(ConfigError, match="the outcome alone has no verdicts"):
        ObjectiveConfig(parts={"rewards": ["solved", {"part": "flipped", "share": 0.1}]})
    with pytest.raises(ConfigError, match="would have no effect"):
        ObjectiveConfig(preset="cm2", parts={"rewards": [{"part": "flipped", "share": 0.1}]})
