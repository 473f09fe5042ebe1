"""What holds of every registered trust region, and the shapes that some of them promise."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from drawn import Array, batch_of, on_policy, surrogate
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.composed import surrogate_of
from palaestra.trainers.objectives.part import PARTS
from palaestra.trainers.objectives.ratio import Granularity, RatioConfig
from palaestra.trainers.objectives.trust import (
    Cispo,
    Clip,
    ClipCov,
    Dcpo,
    Dppo,
    Gmpo,
    KlCov,
    Lad,
    LpReg,
    Luffy,
    Maspo,
    Reinforce,
    Sapo,
    SquarePenalty,
    StepColumns,
    Surrogate,
    TrustRegion,
    UnclippedRatio,
    Vespo,
)

REGIONS: Mapping[str, TrustRegion] = {
    "cispo": Cispo(),
    "clip": Clip(dual=3.0),
    "clip-cov": ClipCov(fraction=0.1, least=0.0),
    "dcpo": Dcpo(),
    "dppo": Dppo(),
    "gmpo": Gmpo(),
    "kl-cov": KlCov(fraction=0.5),
    "lad": Lad(),
    "lp-reg": LpReg(share=0.5),
    "luffy": Luffy(),
    "maspo": Maspo(),
    "reinforce": Reinforce(),
    "sapo": Sapo(),
    "square": SquarePenalty(),
    "unclipped": UnclippedRatio(),
    "vespo": Vespo(),
}
EVERY = sorted(REGIONS)
LENGTHS = (9, 4, 17, 6)


def test_every_registered_region_is_here() -> None:
    ours = {
        name for (plug, name), one in PARTS.items() if plug == "trust" and one.make.__module__.startswith("palaestra.")
    }
    assert ours == set(REGIONS)


def prepared(name: str, batch: TokenBatch) -> tuple[TokenBatch, frozenset[str]]:
    """The batch with the region's own columns, and the names of all that it reads."""
    region, reads = REGIONS[name], PARTS["trust", name].requires
    own = region.columns(batch) if isinstance(region, StepColumns) else {}
    return batch.with_columns(own), reads.union(own)


def given_of(name: str, batch: TokenBatch, logp_T: Tensor, entropy_T: Tensor | None = None) -> Surrogate:
    ready, reads = prepared(name, batch)
    granularity: Granularity = "product" if name == "vespo" else "token"
    return surrogate_of(
        logp_T,
        torch.zeros_like(logp_T) if entropy_T is None else entropy_T,
        ready,
        ratio=RatioConfig(anchor="old", granularity=granularity),
        requires=reads,
    )


@pytest.mark.parametrize("name", EVERY)
def test_gradients_flow_into_log_probabilities_alone(name: str) -> None:
    batch = batch_of(LENGTHS)
    fixed = {key: value for key, value in batch.arrays().items() if value.is_floating_point()}
    leaves = {key: value.clone().requires_grad_() for key, value in fixed.items()}
    watched = replace(
        batch, logprob_T=leaves["logprob_T"], advantage_T=leaves["advantage_T"], return_R=leaves["return_R"]
    ).with_columns({key: leaves[key] for key in batch.columns})
    logp_T = batch.column("now_T").clone().requires_grad_()
    entropy_T = torch.ones_like(logp_T, requires_grad=True)
    with torch.no_grad():
        watched, reads = prepared(name, watched)
    ratio = RatioConfig(anchor="old", granularity="product" if name == "vespo" else "token")
    REGIONS[name](surrogate_of(logp_T, entropy_T, watched, ratio=ratio, requires=reads)).sum().backward()
    assert logp_T.grad is not None
    assert logp_T.grad.abs().sum() > 0
    assert [key for key, leaf in leaves.items() if leaf.grad is not None] == []
    assert entropy_T.grad is None or not entropy_T.grad.any()


@pytest.mark.parametrize("name", EVERY)
def test_what_says_so_is_reinforce_at_ratio_1(name: str) -> None:
    batch = on_policy(batch_of(LENGTHS))
    logp_T = batch.logprob_T.clone().requires_grad_()
    ready, _ = prepared(name, batch)
    kept_T = batch.trained_T & ~ready.columns.get("clip_cov_T", torch.zeros_like(batch.trained_T))
    weight_T = Aggregation().weights(batch, batch.trained_T)
    given = given_of(name, batch, logp_T)
    (found_T,) = torch.autograd.grad((weight_T[batch.trained_T] * REGIONS[name](given)).sum(), logp_T)
    expected_T = (-weight_T * batch.advantage_T).masked_fill(~kept_T, 0.0)
    same = torch.allclose(found_T, expected_T, rtol=1e-9, atol=1e-12)
    assert same == PARTS["trust", name].reinforce


@pytest.mark.parametrize("name", EVERY)
def test_only_what_says_so_moves_tokens_without_an_advantage(name: str) -> None:
    batch = batch_of(LENGTHS)
    batch = replace(batch, advantage_T=batch.advantage_T.masked_fill(batch.trajectory_T < 3, 0.0))
    logp_T = batch.column("now_T").clone().requires_grad_()
    (found_T,) = torch.autograd.grad(REGIONS[name](given_of(name, batch, logp_T)).sum(), logp_T)
    assert bool(found_T[batch.trained_T & (batch.advantage_T == 0)].any()) == PARTS["trust", name].pulls


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("off", [-60.0, 60.0, -1e4, 1e4])
@pytest.mark.parametrize("advantage", [-3.0, 3.0])
def test_losses_and_gradients_are_finite_however_far_off(name: str, off: float, advantage: float) -> None:
    batch = batch_of(LENGTHS)
    logp_T = batch.column("now_T").clone().requires_grad_()
    batch = batch.with_columns({"old_T": logp_T.detach() - off})
    batch = replace(batch, advantage_T=torch.full_like(batch.advantage_T, advantage))
    loss_N = REGIONS[name](given_of(name, batch, logp_T))
    (found_T,) = torch.autograd.grad(loss_N.sum(), logp_T)
    assert loss_N.isfinite().all()
    assert found_T.isfinite().all()


@pytest.mark.parametrize("name", EVERY)
def test_a_micro_batch_has_the_losses_of_the_whole(name: str) -> None:
    batch = batch_of(LENGTHS)
    ready, reads = prepared(name, batch)
    ratio = RatioConfig(anchor="old", granularity="product" if name == "vespo" else "token")

    def losses(part: TokenBatch) -> Tensor:
        now_T = part.column("now_T")
        return REGIONS[name](surrogate_of(now_T, torch.zeros_like(now_T), part, ratio=ratio, requires=reads))

    pieces = [losses(ready.select(places)) for places in ([0, 1], [2], [3])]
    torch.testing.assert_close(torch.cat(pieces), losses(ready), rtol=1e-12, atol=1e-12)


GRID: Array = np.exp(np.linspace(0, 2.9, 60))
"""Ratios from 1 on; their inverses are the other side."""


def coefficients(region: TrustRegion, ratios: Array, advantage: float, *, q: float = 0.05) -> Array:
    """C on a grid."""
    anchor = np.full(len(ratios), np.log(q))
    given, logp_N = surrogate(anchor + np.log(ratios), anchor, np.full(len(ratios), advantage))
    (found_N,) = torch.autograd.grad(region(given).sum(), logp_N)
    return -found_N.numpy() / advantage


@pytest.mark.parametrize("region", [Clip(), Dppo(high=0.3, low=0.03), Dcpo(), Gmpo(), ClipCov()], ids=repr)
def test_an_edge_leaves_nothing_beyond_it_on_the_harmful_side(region: TrustRegion) -> None:
    columns = {"clip_cov_T": np.zeros(len(GRID), dtype=np.bool_)}
    for ratios, advantage in [(GRID, 1.0), (1 / GRID, -1.0)]:
        anchor = np.full(len(ratios), np.log(0.05))
        given, logp_N = surrogate(anchor + np.log(ratios), anchor, np.full(len(ratios), advantage), columns=columns)
        (found_N,) = torch.autograd.grad(region(given).sum(), logp_N)
        silent = found_N.numpy() == 0
        assert silent[-1]
        assert not silent[0]
        assert (np.diff(silent.astype(int)) >= 0).all()


@pytest.mark.parametrize(
    ("region", "good", "bad"),
    [(Sapo(positive=2.0, negative=2.0), 0.1, 0.45), (Maspo(sigma=0.3), 0.1, 0.15), (Vespo(), 0.1, 0.1)],
    ids=repr,
)
def test_a_gate_fades_on_the_harmful_side(region: TrustRegion, good: float, bad: float) -> None:
    """Ratios of 18 and of 1/18; falling all the way once it has begun to."""
    for ratios, advantage, left in [(GRID, 1.0, good), (1 / GRID, -1.0, bad)]:
        found = coefficients(region, ratios, advantage)
        assert found[0] == pytest.approx(1)
        assert 0 <= found[-1] < left
        top = int(found.argmax())
        assert (np.diff(found[top:]) <= 1e-12).all()


@pytest.mark.parametrize("region", [Clip(), Maspo(), Dppo(cap=100.0), Gmpo(), UnclippedRatio()], ids=repr)
def test_the_corrective_side_keeps_the_whole_gradient(region: TrustRegion) -> None:
    for ratios, advantage in [(1 / GRID, 1.0), (GRID, -1.0)]:
        np.testing.assert_allclose(coefficients(region, ratios, advantage), ratios, rtol=1e-9)


def test_cispo_is_flat_at_its_cap_and_never_0() -> None:
    for advantage in (1.0, -1.0):
        found = coefficients(Cispo(high=1.0), np.concatenate([1 / GRID, GRID]), advantage)
        assert (found > 0).all()
        np.testing.assert_allclose(found[-20:], 2.0, rtol=1e-12)
