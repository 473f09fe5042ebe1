"""Weights of tokens against sums written out trajectory by trajectory, and what no splitting may change."""

import math
from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from learning import sequences, weighed
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.objectives.aggregation import Aggregation, AggregationName
from palaestra.trainers.objectives.objective import Totals
from palaestra.trajectory import Episode
from trajectories import batches

NAMES: tuple[AggregationName, ...] = get_args(AggregationName)


def totals_of(batch: TokenBatch) -> Totals:
    return Totals(trajectories=batch.trajectories, tokens=int(batch.trained_T.sum()))


def losses(batch: TokenBatch) -> Tensor:
    """Any number for each trained token, which belongs to the token wherever it stands."""
    return torch.sin(1.0 + 3 * batch.ids_T + 7 * batch.position_T)[batch.trained_T].double()


def written_out(name: AggregationName, batch: TokenBatch, length: float) -> float:
    own: list[list[float]] = [[] for _ in range(batch.trajectories)]
    for trajectory, loss in zip(batch.trajectory_T[batch.trained_T].tolist(), losses(batch).tolist(), strict=True):
        own[trajectory].append(loss)
    whole = [loss for some in own for loss in some]
    match name:
        case "seq-mean-token-mean":
            return math.fsum(math.fsum(some) / len(some) for some in own if some) / len(own)
        case "token-mean":
            return math.fsum(whole) / max(1, len(whole))
        case "seq-mean-token-sum":
            return math.fsum(math.fsum(some) / length for some in own) / len(own)
        case "token-sum":
            return math.fsum(whole)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(drawn=batches, length=st.floats(0.5, 100))
def test_weighed_losses_add_up_to_the_mean_that_the_name_says(
    name: AggregationName, drawn: list[Episode], length: float
) -> None:
    batch = flatten(drawn)
    weight_N = Aggregation(name=name, length=length).weights(batch, totals_of(batch))
    assert float((weight_N * losses(batch)).sum()) == pytest.approx(written_out(name, batch, length), abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(drawn=batches, data=st.data())
def test_the_shares_of_micro_batches_add_up_in_any_order(
    name: AggregationName, drawn: list[Episode], data: st.DataObject
) -> None:
    batch = flatten(drawn)
    order = data.draw(st.permutations(range(batch.trajectories)))
    cut = data.draw(st.integers(0, len(order)))
    aggregation, totals = Aggregation(name=name, length=7.0), totals_of(batch)
    parts = [batch.select(own) for own in (order[:cut], order[cut:]) if own]
    shares = [(aggregation.weights(part, totals) * losses(part)).sum() for part in parts]
    whole = (aggregation.weights(batch, totals) * losses(batch)).sum()
    assert float(sum(shares)) == pytest.approx(float(whole), abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_tokens_of_unlike_trajectories_weigh_the_same_in_all_aggregations_but_one(name: AggregationName) -> None:
    batch = weighed(sequences())
    weight_N = Aggregation(name=name).weights(batch, totals_of(batch))
    assert (weight_N.unique().numel() == 1) is (name != "seq-mean-token-mean")


def test_a_length_that_divides_by_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"length=0.*above 0"):
        Aggregation(length=0)
