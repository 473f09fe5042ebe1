"""V-trace against loops over turns."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import VTrace, gae, vtrace
from scored import Array, array, drawn, own_turns, scored, token_pay


def by_turns(batch: TokenBatch, part: VTrace) -> tuple[Array, Array]:
    """Targets as the paper's sum, not as a recursion."""
    value, pay = array(batch.column("value_T")), token_pay(batch)
    off = array(batch.column("old_T")) - array(batch.logprob_T)
    advantage, target = np.zeros(len(value)), np.zeros(len(value))
    for turns in own_turns(batch):
        v = [value[turn[0]] for turn in turns] + [0.0]
        rho = [np.exp(np.clip(off[turn].sum(), -20, 20)) for turn in turns]
        r = [pay[turn].sum() for turn in turns]
        delta = [min(part.most, rho[t]) * (r[t] + part.gamma * v[t + 1] - v[t]) for t in range(len(turns))]
        targets = [0.0] * (len(turns) + 1)
        for t in range(len(turns)):
            trace, total = 1.0, 0.0
            for s in range(t, len(turns)):
                total += trace * delta[s]
                trace *= part.gamma * part.lam * min(1.0, rho[s])
            targets[t] = v[t] + total
        for t, turn in enumerate(turns):
            ahead = part.lam * targets[t + 1] + (1 - part.lam) * v[t + 1]
            advantage[turn] = min(part.most_gradient, rho[t]) * (r[t] + part.gamma * ahead - v[t])
            target[turn] = targets[t]
    return advantage, target


@pytest.mark.parametrize("part", [VTrace(), VTrace(gamma=0.9, lam=0.7, most=1.5, most_gradient=0.8)], ids=repr)
@pytest.mark.parametrize("seed", range(8))
def test_targets_and_advantages_are_those_of_the_paper(seed: int, part: VTrace) -> None:
    batch = drawn(seed)
    advantage, target = by_turns(batch, part)
    found = part.estimates(batch)
    np.testing.assert_allclose(array(found.advantage_T), advantage, rtol=0, atol=1e-12)
    np.testing.assert_allclose(array(found.target_T), target, rtol=0, atol=1e-12)
    assert torch.equal(part(batch), found.advantage_T)


def test_golden_targets() -> None:
    reward, value = torch.tensor([[0.0, 0.0, 1.0]]), torch.tensor([[0.2, 0.4, 0.6]])
    found = vtrace(reward, value, torch.tensor([[1.0, 0.5, 2.0]]))
    assert found.target_OL.tolist()[0] == pytest.approx([0.7, 0.7, 1.0])


def test_golden_targets_of_turns() -> None:
    """The ratios of the golden numbers, the second as a product of two tokens' ratios."""
    batch = scored(
        [[(1, 0.0), (2, 0.0), (1, 1.0)]],
        columns={
            "value_T": [9, 0.2, 9, 0.4, 8, 9, 0.6, 9],
            "old_T": torch.tensor([1, 1.0, 1, 0.25, 2.0, 1, 2.0, 1], dtype=torch.float64).log(),
        },
    )
    found = VTrace().estimates(batch).target_T[batch.trained_T]
    assert found.tolist() == pytest.approx([0.7, 0.7, 0.7, 1.0])


@pytest.mark.parametrize("lam", [1.0, 0.6, 0.0])
def test_on_the_policy_targets_are_those_of_gae(lam: float) -> None:
    rng = torch.Generator().manual_seed(1)
    reward, value = torch.randn(2, 3, 5, generator=rng, dtype=torch.float64)
    found = vtrace(reward, value, torch.ones_like(value), gamma=0.9, lam=lam)
    expected = value + gae(reward, value, gamma=0.9, lam=lam)
    torch.testing.assert_close(found.target_OL, expected, rtol=0, atol=1e-12)


def test_on_the_policy_with_all_trust_targets_are_returns() -> None:
    reward, value = torch.tensor([[1.0, 2.0, 4.0]]), torch.tensor([[0.3, 0.1, 5.0]])
    assert vtrace(reward, value, torch.ones(1, 3)).target_OL.tolist()[0] == pytest.approx([7.0, 6.0, 4.0])


def test_however_far_off_all_is_finite() -> None:
    batch = drawn(0)
    for off in (-300.0, 300.0):
        far = replace(batch, logprob_T=batch.column("old_T") + off)
        assert VTrace(most=float("inf"), most_gradient=float("inf"))(far).isfinite().all()


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"gamma": 2.0}, "gamma=2.0"), ({"most": 0.0}, "most=0.0"), ({"most_gradient": -1.0}, "most_gradient=-1.0")],
)
def test_bad_settings_are_refused(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        VTrace(**settings)
