"""Bi-level GAE against loops over turns and tokens."""

import numpy as np
import pytest
import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages import BiLevelGae, Gae
from scored import Array, array, drawn, own_turns, scored, token_pay


def by_turns(batch: TokenBatch, *, gamma_turn: float, gamma: float, lam: float) -> tuple[Array, Array]:
    value, pay = array(batch.column("value_T")), token_pay(batch)
    advantage, target = np.zeros(len(value)), np.zeros(len(value))
    for turns in own_turns(batch):
        after, following = 0.0, 0.0
        for turn in reversed(turns):
            end = turn[-1]
            after = pay[end] + gamma_turn * following - value[end] + gamma_turn * lam * after
            following = value[end]
            ahead, later = 0.0, 0.0
            for place in reversed(turn):
                reward = after + value[end] if place == end else 0.0
                ahead = reward + gamma * later - value[place] + gamma * lam * ahead
                later = value[place]
                advantage[place], target[place] = ahead, ahead + value[place]
    return advantage, target


@pytest.mark.parametrize(("gamma_turn", "gamma", "lam"), [(0.95, 1.0, 1.0), (0.7, 0.9, 0.6)])
@pytest.mark.parametrize("seed", range(8))
def test_turns_end_with_their_own_return(seed: int, gamma_turn: float, gamma: float, lam: float) -> None:
    batch = drawn(seed)
    advantage, target = by_turns(batch, gamma_turn=gamma_turn, gamma=gamma, lam=lam)
    found = BiLevelGae(gamma_turn=gamma_turn, gamma=gamma, lam=lam).estimates(batch)
    np.testing.assert_allclose(array(found.advantage_T), advantage, rtol=0, atol=1e-12)
    np.testing.assert_allclose(array(found.target_T), target, rtol=0, atol=1e-12)


def test_two_turns_by_hand() -> None:
    """The second ends with 1; the first with 0.5 * V + 0.5 * (1 - V) = 0.5. Each token is compared with its value."""
    values = [9, 0.25, 0.5, 9, 0.75, 9]
    batch = scored([[(2, 0.0), (1, 1.0)]], columns={"value_T": values})
    found = BiLevelGae(gamma_turn=0.5, whiten=False)(batch)[batch.trained_T]
    assert found.tolist() == [0.25, 0.0, 0.25]


@pytest.mark.parametrize("whiten", [True, False])
def test_in_one_turn_it_is_gae(whiten: bool) -> None:
    rng = torch.Generator().manual_seed(0)
    value_T = torch.randn(14, generator=rng, dtype=torch.float64)
    batch = scored([[(5, 1.0)], [(5, -0.5)]], columns={"value_T": value_T})
    found = BiLevelGae(gamma=0.9, lam=0.8, whiten=whiten)(batch)
    torch.testing.assert_close(found, Gae(gamma=0.9, lam=0.8, whiten=whiten)(batch), rtol=0, atol=1e-12)


def test_a_bad_setting_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gamma_turn=1\.2"):
        BiLevelGae(gamma_turn=1.2)
