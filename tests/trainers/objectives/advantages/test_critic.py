"""GAE and VAPO against loops over tokens."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import Gae, Vapo, gae, gae_estimates, returns_to_go, token_rewards
from scored import Array, array, drawn, own, scored, token_pay


def by_tokens(batch: TokenBatch, *, gamma: float, lams: list[float]) -> tuple[Array, Array]:
    """Advantages and targets at all tokens, as sums of discounted differences."""
    value, pay = array(batch.column("value_T")), token_pay(batch)
    advantage, target = np.zeros(len(value)), np.zeros(len(value))
    for places, lam in zip(own(batch), lams, strict=True):
        after = [*(value[place] for place in places[1:]), 0.0]
        delta = [pay[p] + gamma * n - value[p] for p, n in zip(places, after, strict=False)]
        for number, place in enumerate(places):
            advantage[place] = sum((gamma * lam) ** k * one for k, one in enumerate(delta[number:]))
            target[place] = advantage[place] + value[place]
    return advantage, target


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (0.9, 0.8), (1.0, 0.0)])
@pytest.mark.parametrize("seed", range(6))
def test_advantages_are_discounted_differences(seed: int, gamma: float, lam: float) -> None:
    batch = drawn(seed)
    advantage, target = by_tokens(batch, gamma=gamma, lams=[lam] * batch.trajectories)
    found = Gae(gamma=gamma, lam=lam).estimates(batch)
    np.testing.assert_allclose(array(found.advantage_T), advantage, rtol=0, atol=1e-12)
    np.testing.assert_allclose(array(found.target_T), target, rtol=0, atol=1e-12)
    assert torch.equal(Gae(gamma=gamma, lam=lam, whiten=False)(batch), found.advantage_T)


@pytest.mark.parametrize("seed", range(6))
def test_vapo_looks_further_ahead_in_longer_trajectories(seed: int) -> None:
    batch = drawn(seed)
    lams = [max(0.0, 1 - 1 / (0.2 * len(places))) if places else 0.0 for places in own(batch)]
    advantage, _ = by_tokens(batch, gamma=0.9, lams=lams)
    _, target = by_tokens(batch, gamma=0.9, lams=[1.0] * batch.trajectories)
    found = Vapo(alpha=0.2, gamma=0.9).estimates(batch)
    np.testing.assert_allclose(array(found.advantage_T), advantage, rtol=0, atol=1e-12)
    np.testing.assert_allclose(array(found.target_T), target, rtol=0, atol=1e-12)


@pytest.mark.parametrize("part", [Gae(), Gae(lam=0.9), Vapo()])
def test_advantages_are_whitened_over_trained_tokens(part: Gae | Vapo) -> None:
    batch = drawn(1)
    plain = array(part.estimates(batch).advantage_T[batch.trained_T])
    found = array(part(batch)[batch.trained_T])
    np.testing.assert_allclose(found, (plain - plain.mean()) / np.sqrt(plain.var(ddof=1) + 1e-8), atol=1e-12)


def test_lambda_grows_with_the_length() -> None:
    lam_R = Vapo().lam(torch.tensor([10.0, 50.0, 100.0, 1000.0], dtype=torch.float64))
    assert lam_R.tolist() == pytest.approx([0.0, 0.6, 0.8, 0.98])


def test_vapo_of_endless_reach_is_gae() -> None:
    batch = drawn(2)
    assert torch.equal(Vapo(alpha=math.inf)(batch), Gae()(batch))


def test_without_a_critic_and_with_all_trust_it_is_the_return_to_come() -> None:
    batch = drawn(4)
    batch = batch.with_columns({"value_T": torch.zeros_like(batch.column("value_T"))})
    expected = returns_to_go(token_rewards(batch), batch, gamma=1.0)
    torch.testing.assert_close(Gae(whiten=False)(batch), expected, rtol=0, atol=1e-12)


def test_with_all_trust_a_last_reward_is_compared_with_the_critic() -> None:
    batch = scored([[(2, 0.0), (2, 3.0)]], columns={"value_T": [9, 0.5, 1, 9, 2, -1, 9]})
    assert Gae(whiten=False)(batch)[batch.trained_T].tolist() == [2.5, 2.0, 1.0, 4.0]


def test_what_others_wrote_in_between_changes_nothing() -> None:
    """Two turns of two tokens, and one turn of four, with the same values."""
    apart = scored([[(2, 0.0), (2, 3.0)]], columns={"value_T": [9, 0.5, 1, 9, 2, -1, 9]})
    together = scored([[(4, 3.0)]], columns={"value_T": [9, 0.5, 1, 2, -1, 9]})
    part = Gae(gamma=0.9, lam=0.7)
    assert torch.equal(part(apart)[apart.trained_T], part(together)[together.trained_T])


def test_rows_may_have_lambdas_of_their_own() -> None:
    batch = drawn(5)
    lam_R = torch.linspace(0, 1, batch.trajectories, dtype=torch.float64)
    advantage, _ = by_tokens(batch, gamma=0.9, lams=lam_R.tolist())
    found = gae_estimates(batch, gamma=0.9, lam=lam_R[:, None])
    np.testing.assert_allclose(array(found.advantage_T), advantage, rtol=0, atol=1e-12)


def test_one_step_of_gae_by_hand() -> None:
    """0.5 * 0.4 - 0.2 = 0, then 1 - 0.4; the second counts 0.5 * 0.5."""
    reward, value = torch.tensor([[0.0, 1.0]]), torch.tensor([[0.2, 0.4]])
    assert gae(reward, value, gamma=0.5, lam=0.5).tolist()[0] == pytest.approx([0.15, 0.6])


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        (Gae, {"gamma": 1.1}, "gamma=1.1"),
        (Gae, {"lam": -0.1}, "lam=-0.1"),
        (Vapo, {"alpha": 0.0}, "alpha=0.0"),
        (Vapo, {"critic_lam": 2.0}, "critic_lam=2.0"),
    ],
)
def test_bad_settings_are_refused(kind: Any, settings: dict[str, float], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        kind(**settings)
