"""Learning rates by the effective share of trajectories, against sums in numpy."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from graded import many, reals, returning, sums
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.rates import Ess, effective_share


def weighing(weights: list[float]) -> TokenBatch:
    """A batch whose trajectories have these importance weights."""
    batch = returning([0.0] * len(weights))
    moved_R = reals(weights).log() / 2
    return batch.with_columns(
        {"now_T": batch.logprob_T + moved_R[batch.trajectory_T].masked_fill(~batch.trained_T, 0.0)}
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most", [math.inf, 1.5])
def test_the_share_is_that_of_the_trajectories_that_acted(seed: int, most: float) -> None:
    batch = many(seed)
    log_weight = sums(batch.column("now_T") - batch.logprob_T, batch)
    acted = sums(torch.ones_like(batch.logprob_T), batch) > 0
    weight = np.minimum(np.exp(log_weight[acted]), most)
    share = weight.sum() ** 2 / (len(weight) * (weight**2).sum())
    assert Ess(rule="linear", most=most)(batch) == pytest.approx(share, rel=1e-12)
    assert Ess(most=most)(batch) == pytest.approx(math.sqrt(share), rel=1e-12)
    assert Ess(base=0.25, most=most)(batch) == pytest.approx(math.sqrt(min(1, share / 0.25)), rel=1e-12)


def test_golden_rates() -> None:
    """8^2 / (4 * 28) = 4/7, and its root."""
    batch = weighing([1, 1, 1, 5])
    assert Ess(rule="linear")(batch) == pytest.approx(0.571429, abs=1e-6)
    assert Ess()(batch) == pytest.approx(0.755929, abs=1e-6)


def test_equal_weights_leave_the_rate_as_it_is() -> None:
    assert Ess()(weighing([3.0, 3.0, 3.0])) == pytest.approx(1, rel=1e-12)
    assert effective_share(torch.zeros(5)) == 1.0


def test_one_weight_that_is_all_there_is_leaves_one_part() -> None:
    assert effective_share(reals([0, -math.inf, -math.inf, -math.inf])) == 0.25
    assert effective_share(reals([5000, 0, 0, 0])) == 0.25


def test_a_common_factor_changes_nothing() -> None:
    log_R = reals([0.1, -2, 1.5])
    shares = [effective_share(log_R + shift) for shift in (0.0, 800.0, -800.0)]
    assert shares == pytest.approx([shares[0]] * 3, rel=1e-9)


def test_of_nothing_a_step_is_none() -> None:
    batch = many(1)
    untrained = replace(batch, trained_T=torch.zeros_like(batch.trained_T))
    assert Ess()(untrained) == 0.0
    assert effective_share(torch.zeros(0)) == 0.0
    assert effective_share(torch.full((3,), -math.inf)) == 0.0


def test_an_infinite_weight_is_all_there_is() -> None:
    assert effective_share(reals([math.inf, 3, 2])) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("settings", "says"), [({"base": 0.0}, "base=0.0"), ({"base": 1.5}, "base=1.5"), ({"most": 0.0}, "most=0.0")]
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Ess(**settings)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
