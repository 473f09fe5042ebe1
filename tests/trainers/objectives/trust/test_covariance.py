"""Clip-Cov and KL-Cov: covariances in numpy with loops, who is drawn and held, and what that does to the loss."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from drawn import batch_of, surrogate
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.trust import Clip, ClipCov, KlCov, StepColumns, UnclippedRatio, covariance

LENGTHS = (40, 25, 60, 33)


def products(batch: TokenBatch) -> list[float]:
    """The covariance of each trained token, 0 elsewhere."""
    own = batch.trained_T.tolist()
    advantage, now = batch.advantage_T.tolist(), batch.column("now_T").tolist()
    count = sum(own)
    mean = sum(a for a, counts in zip(advantage, own, strict=True) if counts) / count
    level = sum(p for p, counts in zip(now, own, strict=True) if counts) / count
    return [(a - mean) * (p - level) if counts else 0.0 for a, p, counts in zip(advantage, now, own, strict=True)]


@pytest.mark.parametrize("seed", range(3))
def test_covariances_are_over_the_whole_step(seed: int) -> None:
    batch = batch_of(LENGTHS, seed=seed)
    found_T = covariance(batch.advantage_T, batch.column("now_T"), batch.trained_T)
    np.testing.assert_allclose(found_T.numpy(), products(batch), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_drawn_are_as_many_as_asked_for_from_the_band(seed: int) -> None:
    batch = batch_of(LENGTHS, seed=seed)
    region = ClipCov(fraction=0.05, least=0.5, most=3.0)
    assert isinstance(region, StepColumns)
    drawn = region.columns(batch)["clip_cov_T"].tolist()
    band = [0.5 <= one <= 3.0 for one in products(batch)]
    assert sum(drawn) == min(sum(band), int(0.05 * sum(LENGTHS)))
    assert all(inside for chosen, inside in zip(drawn, band, strict=True) if chosen)


def test_all_are_drawn_where_the_band_has_fewer() -> None:
    batch = batch_of(LENGTHS)
    drawn = ClipCov(fraction=1.0, least=0.5, most=3.0).columns(batch)["clip_cov_T"].tolist()
    assert drawn == [0.5 <= one <= 3.0 for one in products(batch)]


def test_the_draw_depends_on_the_seed_and_the_batch_alone() -> None:
    batch = batch_of(LENGTHS)
    first, again, other = (
        ClipCov(fraction=0.05, least=0.0, seed=seed).columns(batch)["clip_cov_T"] for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_order_of_trajectories_makes_no_difference() -> None:
    batch = batch_of(LENGTHS)
    regions: list[tuple[StepColumns, str]] = [
        (ClipCov(fraction=0.05, least=0.0), "clip_cov_T"),
        (KlCov(fraction=0.05), "kl_cov_T"),
    ]
    for region, name in regions:
        before = batch.with_columns(region.columns(batch)).select([2, 0, 3, 1]).column(name)
        assert torch.equal(before, region.columns(batch.select([2, 0, 3, 1]))[name])


@pytest.mark.parametrize("seed", range(3))
def test_held_are_those_of_greatest_covariance(seed: int) -> None:
    batch = batch_of(LENGTHS, seed=seed)
    region = KlCov(fraction=0.03)
    assert isinstance(region, StepColumns)
    ranked = sorted((place for place in range(len(batch.ids_T))), key=products(batch).__getitem__, reverse=True)
    found = region.columns(batch)["kl_cov_T"].nonzero()[:, 0].tolist()
    assert sorted(found) == sorted(ranked[: int(0.03 * sum(LENGTHS))])


def test_a_drawn_token_has_no_loss_and_a_held_one_has_the_distance_more() -> None:
    rng = np.random.default_rng(0)
    anchor = np.log(rng.uniform(0.01, 0.5, 50))
    mark = rng.random(50) < 0.4
    given, _ = surrogate(
        anchor + rng.normal(0, 0.5, 50), anchor, rng.normal(0, 1, 50), columns={"clip_cov_T": mark, "kl_cov_T": mark}
    )
    plain_N = Clip(low=0.1, high=0.3, dual=3.0)(given).detach().numpy()
    found_N = ClipCov(low=0.1, high=0.3, dual=3.0)(given).detach().numpy()
    np.testing.assert_array_equal(found_N, np.where(mark, 0.0, plain_N))
    silent_N = ClipCov(low=0.1, high=0.3, dual=3.0).silenced_tokens(given).numpy()
    np.testing.assert_array_equal(silent_N, mark | Clip(low=0.1, high=0.3, dual=3.0).silenced_tokens(given).numpy())
    ratio_N = given.log_ratio_N.detach().numpy()
    expected_N = -given.advantage_N.numpy() * np.exp(ratio_N) + 0.7 * mark * np.abs(ratio_N)
    np.testing.assert_allclose(KlCov(coefficient=0.7)(given).detach().numpy(), expected_N, rtol=1e-12)


def test_a_fraction_of_0_is_the_plain_region() -> None:
    batch = batch_of(LENGTHS)
    own_T = batch.trained_T
    none = ClipCov(fraction=0.0), KlCov(fraction=0.0)
    columns = {name: column_T[own_T].numpy() for region in none for name, column_T in region.columns(batch).items()}
    given, _ = surrogate(
        batch.column("now_T")[own_T].numpy(),
        batch.logprob_T[own_T].numpy(),
        batch.advantage_T[own_T].numpy(),
        columns=columns,
    )
    assert torch.equal(none[0](given), Clip()(given))
    assert torch.equal(none[1](given), UnclippedRatio()(given))


def test_equal_advantages_and_batches_of_nothing_draw_nobody() -> None:
    level = replace(batch_of(LENGTHS), advantage_T=batch_of(LENGTHS).trained_T.double())
    assert not ClipCov(fraction=1.0).columns(level)["clip_cov_T"].any()
    empty = batch_of((0, 0))
    assert not ClipCov(fraction=1.0).columns(empty)["clip_cov_T"].any()
    assert not KlCov(fraction=1.0).columns(empty)["kl_cov_T"].any()
    assert not KlCov(fraction=1.0).columns(level)["kl_cov_T"].any()


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match=r"fraction=2: a share"):
        ClipCov(fraction=2)
    with pytest.raises(ValueError, match=r"least=6, most=5\.0"):
        ClipCov(least=6)
    with pytest.raises(ValueError, match=r"dual=1\.0"):
        ClipCov(dual=1.0)
    with pytest.raises(ValueError, match=r"fraction=-1: a share"):
        KlCov(fraction=-1)
    with pytest.raises(ValueError, match=r"coefficient=-1: below 0"):
        KlCov(coefficient=-1)
