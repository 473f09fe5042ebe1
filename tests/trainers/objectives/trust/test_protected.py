"""Lp-Reg: who is pulled, in numpy with loops, how strongly, and that nobody else is."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from drawn import batch_of, column, surrogate
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.trust import Clip, LpReg, StepColumns


def chosen(batch: TokenBatch, *, share: float, pool: str) -> list[bool]:
    own, advantage = batch.trained_T.numpy(), batch.advantage_T.numpy()
    now, proxy = batch.column("now_T").numpy(), batch.column("proxy_T").numpy()
    among = [now[place] for place in range(len(own)) if own[place] and (pool == "all" or advantage[place] < 0)]
    bound = np.quantile(among, share)
    return [
        bool(own[place] and advantage[place] < 0 and now[place] < bound and now[place] < proxy[place])
        for place in range(len(own))
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.01, 0.3, 1.0])
def test_pulled_are_the_least_likely_of_the_step_that_the_proxy_makes_likelier(seed: int, share: float) -> None:
    batch = batch_of((9, 14, 20, 6), seed=seed)
    everything = LpReg(share=share)
    assert isinstance(everything, StepColumns)
    assert everything.columns(batch)["lp_reg_T"].tolist() == chosen(batch, share=share, pool="all")
    negative = LpReg(share=share, pool="negative")
    assert negative.columns(batch)["lp_reg_T"].tolist() == chosen(batch, share=share, pool="negative")


def test_someone_is_pulled_in_these_tests() -> None:
    assert any(chosen(batch_of((9, 14, 20, 6)), share=0.3, pool="all"))


def test_the_loss_is_the_clip_and_the_pull() -> None:
    logp, anchor = np.log([0.01, 0.01, 0.2, 0.9]), np.log([0.02, 0.02, 0.1, 0.05])
    proxy = np.log([0.03, 0.03, 0.1, 0.06])
    given, logp_N = surrogate(
        logp,
        anchor,
        np.array([-1.0, -1.0, -1.0, 1.0]),
        columns={"proxy_T": proxy, "lp_reg_T": np.array([True, False, False, False])},
    )
    loss_N = LpReg(beta=0.5)(given)
    plain = [0.5, 0.5, 2.0, -10.0]  # the last one's ratio of 18 is cut off at 10
    pull = 0.5 * (3 - math.log(3) - 1)
    np.testing.assert_allclose(loss_N.detach().numpy(), np.add(plain, [pull, 0, 0, 0]), rtol=1e-12)
    (found_N,) = torch.autograd.grad(loss_N.sum(), logp_N)
    np.testing.assert_allclose(found_N.numpy(), [0.5 + 0.5 * (1 - 3), 0.5, 2.0, 0.0], rtol=1e-12)
    assert LpReg().silenced_tokens(given).tolist() == [False, False, False, True]


def test_the_pull_only_ever_raises_a_probability() -> None:
    rng = np.random.default_rng(0)
    logp = np.log(rng.uniform(1e-4, 0.1, 100))
    every = {"proxy_T": logp + rng.uniform(0, 30, 100), "lp_reg_T": np.ones(100, dtype=np.bool_)}
    given, logp_N = surrogate(logp, logp, np.zeros(100), columns=every)
    (found_N,) = torch.autograd.grad(LpReg()(given).sum(), logp_N)
    assert (found_N <= 0).all()
    assert found_N.isfinite().all()


def test_what_the_proxy_leaves_out_is_never_pulled_and_makes_nothing_infinite() -> None:
    batch = batch_of((4,), prompt=1, turns=1)
    batch = column(batch, "now_T", [-9.0, -8.0, -1.0, -1.0])
    batch = column(batch, "proxy_T", [-math.inf, -7.0, -0.5, -0.5])
    batch = replace(batch, advantage_T=-torch.ones_like(batch.advantage_T))
    marked_T = LpReg(share=0.5).columns(batch)["lp_reg_T"]
    assert marked_T.nonzero()[:, 0].tolist() == [2]
    own_T = batch.trained_T
    now = batch.column("now_T")[own_T].numpy()
    taken = {"proxy_T": batch.column("proxy_T")[own_T].numpy(), "lp_reg_T": marked_T[own_T].numpy()}
    given, logp_N = surrogate(now, now, -np.ones(4), columns=taken)
    loss_N = LpReg()(given)
    (found_N,) = torch.autograd.grad(loss_N.sum(), logp_N)
    assert loss_N.isfinite().all()
    assert found_N.isfinite().all()


def test_good_tokens_are_never_pulled() -> None:
    batch = batch_of((9, 14))
    batch = replace(batch, advantage_T=batch.advantage_T.abs())
    assert not LpReg(share=1.0).columns(batch)["lp_reg_T"].any()


def test_without_a_pull_it_is_the_wide_clip() -> None:
    rng = np.random.default_rng(1)
    anchor = np.log(rng.uniform(0.001, 0.1, 200))
    marks = {"proxy_T": anchor, "lp_reg_T": rng.random(200) < 0.5}
    given, _ = surrogate(anchor + rng.normal(0, 2, 200), anchor, rng.normal(0, 1, 200), columns=marks)
    torch.testing.assert_close(LpReg(beta=0.0)(given), Clip(low=1.0, high=9.0)(given), rtol=0, atol=0)


def test_a_batch_of_nothing_has_nobody_to_pull() -> None:
    assert not LpReg().columns(batch_of((0, 0)))["lp_reg_T"].any()


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match=r"beta=-1\.0: below 0"):
        LpReg(beta=-1.0)
    with pytest.raises(ValueError, match=r"share=1\.5: a share"):
        LpReg(share=1.5)
    with pytest.raises(ValueError, match=r"low=-1\.0"):
        LpReg(low=-1.0)
