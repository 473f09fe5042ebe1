"""Axes: T tokens."""

import math

import pytest
import torch

from learning import sequences, weighed
from palaestra.trainers.objectives import SupervisedObjective


def test_the_loss_is_the_mean_over_the_trained_tokens_of_the_step() -> None:
    batch = weighed(sequences(4))
    logp_T = -torch.rand(len(batch.ids_T), generator=torch.Generator().manual_seed(0))
    prepared = SupervisedObjective().prepare(batch)
    found, figures = prepared.loss(logp_T, logp_T, prepared.batch)
    own = [logp_T[t].item() for t in range(len(logp_T)) if batch.trained_T[t]]
    assert found.item() == pytest.approx(-sum(own) / len(own), rel=1e-6)
    assert figures == {}


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_what_is_not_trained_has_no_part_in_it(value: float) -> None:
    batch = weighed(sequences(4))
    logp_T = torch.zeros(len(batch.ids_T)).masked_fill(~batch.trained_T, value).requires_grad_()
    prepared = SupervisedObjective().prepare(batch)
    loss, _ = prepared.loss(logp_T, logp_T, prepared.batch)
    loss.backward()
    assert loss.item() == 0
    assert logp_T.grad is not None
    assert torch.equal(logp_T.grad, -batch.trained_T.float() / batch.trained_T.sum())


def test_every_trained_token_weighs_the_same() -> None:
    batch = weighed(sequences(4))
    assert torch.equal(SupervisedObjective().advantages(batch).advantage_T, batch.trained_T.float())
