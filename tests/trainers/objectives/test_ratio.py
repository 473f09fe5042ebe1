"""Ratios of tokens, turns and trajectories against loops over them. Axes: T tokens, N trained tokens."""

import math
from dataclasses import replace
from typing import get_args

import pytest
import torch
from torch import Tensor

from complete import complete
from palaestra.errors import UnknownNameError
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.ratio import Granularity, RatioConfig

GRANULARITIES: tuple[Granularity, ...] = get_args(Granularity)


def written_out(granularity: Granularity, off: list[float], owner: list[int]) -> list[float]:
    """The logarithm of each trained token's ratio, from how far it is off and whose it is."""
    if granularity == "token":
        return off
    found: list[float] = []
    for mine in owner:
        own = [x for x, whose in zip(off, owner, strict=True) if whose == mine]
        whole = math.fsum(own)
        found.append(whole if granularity == "product" else min(10.0, whole / len(own)))
    return [min(20.0, max(-20.0, x)) for x in found]


def near(batch: TokenBatch) -> Tensor:
    noise_T = torch.randn(len(batch.ids_T), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    return (batch.logprob_T + 0.5 * noise_T).requires_grad_()


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_a_ratio_is_its_tokens_its_turns_or_its_trajectorys(granularity: Granularity) -> None:
    batch, logp_T = complete(), near(complete())
    own_T = batch.trained_T
    found_N = RatioConfig(granularity=granularity).log_ratio(logp_T[own_T], batch.logprob_T[own_T], batch)
    off = (logp_T - batch.logprob_T)[own_T].tolist()
    owner = (batch.turn_T if granularity == "turn" else batch.trajectory_T)[own_T].tolist()
    assert found_N.tolist() == pytest.approx(written_out(granularity, off, owner), abs=1e-12)


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_each_tokens_gradient_is_its_own(granularity: Granularity) -> None:
    batch, logp_T = complete(), near(complete())
    own_T = batch.trained_T
    weight_N = torch.arange(int(own_T.sum()), dtype=torch.float64)
    log_ratio_N = RatioConfig(granularity=granularity).log_ratio(logp_T[own_T], batch.logprob_T[own_T], batch)
    (slope_T,) = torch.autograd.grad((weight_N * log_ratio_N).sum(), logp_T)
    assert torch.equal(slope_T[own_T], weight_N)


@pytest.mark.parametrize(("granularity", "most"), [("token", 20), ("turn", 10), ("sequence", 10), ("product", 20)])
@pytest.mark.parametrize("far", [500.0, -500.0])
def test_a_ratio_however_far_is_bounded(granularity: Granularity, most: float, far: float) -> None:
    batch = complete()
    own_T = batch.trained_T
    logp_N, anchor_N = batch.logprob_T[own_T] + far, batch.logprob_T[own_T]
    found_N = RatioConfig(granularity=granularity).log_ratio(logp_N, anchor_N, batch)
    assert (found_N == (most if far > 0 else -20.0)).all()


def test_the_anchor_is_who_drew_who_began_or_nobody() -> None:
    batch, logp_T = complete(), near(complete())
    assert torch.equal(RatioConfig().anchor_logp(logp_T, batch), batch.logprob_T)
    assert torch.equal(RatioConfig(anchor="old").anchor_logp(logp_T, batch), batch.column("old_T"))
    nobody_T = RatioConfig(anchor="none").anchor_logp(logp_T, batch)
    assert torch.equal(nobody_T, logp_T)
    assert not nobody_T.requires_grad
    assert (RatioConfig().requires(), RatioConfig(anchor="old").requires()) == (frozenset(), frozenset({"old_T"}))


def test_a_batch_that_lacks_the_anchor_says_who_fills_it_in() -> None:
    batch = complete()
    lacking = replace(batch, columns={name: column for name, column in batch.columns.items() if name != "old_T"})
    with pytest.raises(UnknownNameError, match=r"unknown column of a batch 'old_T'.*the creator of the batch"):
        RatioConfig(anchor="old").anchor_logp(batch.logprob_T, lacking)
