"""Axes: T tokens."""

import math

import pytest
import torch

from learning import sequences, weighed
from palaestra.trainers.objectives import Supervised, Totals


def test_the_loss_is_the_mean_over_the_trained_tokens_of_the_step() -> None:
    batch = weighed(sequences(4))
    logp_T = -torch.rand(len(batch.ids_T), generator=torch.Generator().manual_seed(0))
    found, figures = Supervised().loss(logp_T, logp_T, batch, Totals(trajectories=9, tokens=200))
    expected = -sum(logp_T[t].item() for t in range(len(logp_T)) if batch.trained_T[t]) / 200
    assert found.item() == pytest.approx(expected, rel=1e-6)
    assert figures == {}


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_what_is_not_trained_has_no_part_in_it(value: float) -> None:
    batch = weighed(sequences(4))
    logp_T = torch.zeros(len(batch.ids_T)).masked_fill(~batch.trained_T, value).requires_grad_()
    loss, _ = Supervised().loss(logp_T, logp_T, batch, Totals(trajectories=4, tokens=10))
    loss.backward()
    assert loss.item() == 0
    assert logp_T.grad is not None
    assert torch.equal(logp_T.grad, -batch.trained_T.float() / 10)


def test_every_trained_token_weighs_the_same() -> None:
    batch = weighed(sequences(4))
    assert torch.equal(Supervised().advantages(batch), batch.trained_T.float())
