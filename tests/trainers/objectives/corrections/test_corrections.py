"""Corrections for who drew the tokens, against loops in numpy; exactly 1 where nothing is off."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from drawn import batch_of, column, on_policy
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.corrections import (
    DecoupledWeight,
    IcePop,
    SequenceTis,
    TokenTis,
    log_mismatch,
    no_correction,
    proximal_logprobs,
)
from palaestra.trainers.objectives.part import PARTS
from palaestra.trainers.objectives.parts import Correction

LENGTHS = (5, 1, 12, 8)
EVERY: list[Correction] = [
    TokenTis(),
    TokenTis(cap=1.2, normalised=True),
    SequenceTis(),
    SequenceTis(cap=5.0, normalised=True),
    IcePop(),
    IcePop(low=0.0, high=math.inf),
    DecoupledWeight(),
    DecoupledWeight(cap=1.3),
    DecoupledWeight(cap=1.3, beyond="clamp"),
]


def ratios(batch: TokenBatch) -> list[list[float]]:
    """old / rollout of each trained token, by trajectory."""
    found: list[list[float]] = [[] for _ in range(batch.trajectories)]
    for place in range(len(batch.ids_T)):
        if batch.trained_T[place]:
            off = float(batch.column("old_T")[place] - batch.logprob_T[place])
            found[int(batch.trajectory_T[place])].append(math.exp(off))
    return found


def flat(rows: list[list[float]]) -> list[float]:
    return [one for row in rows for one in row]


def token_tis(rows: list[list[float]]) -> list[float]:
    return [min(one, 2.0) for one in flat(rows)]


def token_tis_normalised(rows: list[list[float]]) -> list[float]:
    weights = [min(one, 1.2) for one in flat(rows)]
    return [one * len(weights) / sum(weights) for one in weights]


def sequence_tis(rows: list[list[float]]) -> list[float]:
    return flat([[min(math.prod(row), 2.0)] * len(row) for row in rows])


def sequence_tis_normalised(rows: list[list[float]]) -> list[float]:
    weights = [min(math.prod(row), 5.0) for row in rows]
    return flat([[w * len(rows) / sum(weights)] * len(row) for w, row in zip(weights, rows, strict=True)])


SECOND: list[tuple[Correction, Callable[[list[list[float]]], list[float]]]] = [
    (EVERY[0], token_tis),
    (EVERY[1], token_tis_normalised),
    (EVERY[2], sequence_tis),
    (EVERY[3], sequence_tis_normalised),
    (EVERY[4], lambda rows: [one if 0.5 <= one <= 5 else 0.0 for one in flat(rows)]),
    (EVERY[5], flat),
    (EVERY[6], flat),
    (EVERY[7], lambda rows: [one if one <= 1.3 else 0.0 for one in flat(rows)]),
    (EVERY[8], lambda rows: [min(one, 1.3) for one in flat(rows)]),
]


@pytest.mark.parametrize(("correction", "second"), SECOND, ids=lambda one: getattr(one, "__name__", repr(one)))
@pytest.mark.parametrize("seed", range(4))
def test_weights_are_those_of_a_loop(
    correction: Correction, second: Callable[[list[list[float]]], list[float]], seed: int
) -> None:
    batch = batch_of(LENGTHS, seed=seed)
    spread_T = batch.logprob_T + 2.5 * (batch.column("old_T") - batch.logprob_T)
    batch = batch.with_columns({"old_T": spread_T})
    found_T = correction(batch)
    np.testing.assert_allclose(found_T[batch.trained_T].numpy(), second(ratios(batch)), rtol=1e-10)


@pytest.mark.parametrize("correction", EVERY, ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_the_weights_drew_themselves_weighs_exactly_1(correction: Correction, dtype: torch.dtype) -> None:
    batch = on_policy(batch_of((137, 3, 61)))
    batch = replace(batch, logprob_T=batch.logprob_T.to(dtype)).with_columns({"old_T": batch.logprob_T.to(dtype)})
    weight_N = correction(batch)[batch.trained_T]
    assert weight_N.dtype == dtype
    assert torch.equal(weight_N, torch.ones_like(weight_N))


@pytest.mark.parametrize("correction", EVERY, ids=repr)
@pytest.mark.parametrize("worst", [-1e4, 1e4, math.inf, -math.inf])
def test_weights_are_finite_whatever_an_engine_reports(correction: Correction, worst: float) -> None:
    batch = batch_of((4, 3))
    batch = column(batch, "old_T", [-1.0 + worst, -1.0, -1.0, -1.0 - worst, -1.0, -1.0, -1.0])
    batch = column(batch, "logprob_T", [-1.0] * 7)
    assert correction(batch).isfinite().all()
    both = column(column(batch, "old_T", [-math.inf] * 7), "logprob_T", [-1.0] * 7)
    both = replace(both, logprob_T=both.logprob_T.masked_fill(both.trained_T, -math.inf))
    assert torch.equal(correction(both)[both.trained_T], torch.ones(7, dtype=torch.float64))


@pytest.mark.parametrize("correction", EVERY, ids=repr)
def test_a_batch_of_nothing_has_no_weights(correction: Correction) -> None:
    assert correction(batch_of((0, 0))).isfinite().all()


def test_what_is_not_trained_is_never_looked_at() -> None:
    batch = column(batch_of((3, 2)), "old_T", [-1.0] * 5)
    assert log_mismatch(batch)[~batch.trained_T].tolist() == [0.0] * int((~batch.trained_T).sum())


@pytest.mark.parametrize("name", sorted(name for plug, name in PARTS if plug == "correction"))
def test_none_goes_with_a_ratio_to_the_rollout(name: str) -> None:
    if PARTS["correction", name].make.__module__.startswith("palaestra."):
        assert "twice" in PARTS["correction", name].conflicts["ratio.anchor=rollout"]
        assert ("old_T" in PARTS["correction", name].requires) == (name != "uncorrected")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: TokenTis(cap=0.5), "cap=0.5: tokens without a mismatch have weight 1"),
        (lambda: SequenceTis(cap=0.5), "cap=0.5"),
        (lambda: IcePop(low=1.5), "low=1.5, high=5.0: 1, the weight"),
        (lambda: IcePop(high=0.9), "high=0.9"),
        (lambda: DecoupledWeight(cap=0.0), "cap=0.0"),
    ],
)
def test_a_setting_that_would_weigh_what_is_not_off_is_refused(make: Callable[[], Correction], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


def test_a_proximal_policy_in_between_is_in_between() -> None:
    now_T, rollout_T = torch.tensor([-1.0, -1.0, -1.0, -1.0, -1.0]), torch.tensor([-2.0, -2.0, -2.0, -2.0, -2.0])
    drawn_T = torch.tensor([0, 2, 3, 4, 5])
    found_T = proximal_logprobs(now_T, rollout_T, drawn_T, proximal=3, now=4)
    # Shares 3/4, 1/2 and 0; the trained weights drew the fourth, and nobody knows who the fifth.
    torch.testing.assert_close(found_T, torch.tensor([-1.25, -1.5, -2.0, -1.0, -1.0]))


def test_a_proximal_policy_at_either_end_is_that_end() -> None:
    batch = batch_of((5,))
    now_T, drawn_T = batch.column("now_T"), torch.full_like(batch.version_T, 2)
    same = [proximal_logprobs(now_T, batch.logprob_T, drawn_T, proximal=version, now=7) for version in (2, 7)]
    assert torch.equal(same[0], batch.logprob_T)
    torch.testing.assert_close(same[1], now_T, rtol=1e-12, atol=0)


def test_without_a_correction_every_token_weighs_the_same() -> None:
    batch = batch_of(LENGTHS)
    assert batch.column("old_T")[batch.trained_T].ne(batch.logprob_T[batch.trained_T]).any()
    assert no_correction(batch).tolist() == [1.0] * len(batch.ids_T)
