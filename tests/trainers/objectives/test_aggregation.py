"""Weights of tokens against sums written out trajectory by trajectory, and what no splitting may change."""

import math
from dataclasses import replace
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
from palaestra.trajectory import Episode
from trajectories import batches

NAMES: tuple[AggregationName, ...] = get_args(AggregationName)


def losses(batch: TokenBatch) -> Tensor:
    """Any number for each token, which belongs to the token wherever it stands."""
    return torch.sin(1.0 + 3 * batch.ids_T + 7 * batch.position_T).double()


def written_out(name: AggregationName, batch: TokenBatch, counted_T: Tensor, length: float) -> float:
    place, loss_T = batch.trajectory_T[counted_T].tolist(), losses(batch)[counted_T].tolist()
    every: list[list[float]] = [[] for _ in range(batch.trajectories)]
    groups: dict[int, list[float]] = {}
    for trajectory, loss in zip(place, loss_T, strict=True):
        every[trajectory].append(loss)
        groups.setdefault(int(batch.group_R[trajectory]), []).append(loss)
    own = [some for some in every if some]
    whole = [loss for some in own for loss in some]
    if not whole:
        return 0.0
    match name:
        case "seq-mean-token-mean":
            return math.fsum(math.fsum(some) / len(some) for some in own) / len(own)
        case "sum-token-mean":
            return math.fsum(math.fsum(some) / len(some) for some in own)
        case "luspo":
            return math.fsum(whole) / len(own)
        case "prompt-mean":
            return math.fsum(math.fsum(some) / len(some) for some in groups.values()) / len(groups)
        case "token-mean":
            return math.fsum(whole) / len(whole)
        case "seq-mean-token-sum":
            return math.fsum(math.fsum(some) / length for some in own) / len(own)
        case "token-sum":
            return math.fsum(whole)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(drawn=batches, length=st.floats(0.5, 100), data=st.data())
def test_weighed_losses_add_up_to_the_mean_that_the_name_says(
    name: AggregationName, drawn: list[Episode], length: float, data: st.DataObject
) -> None:
    batch = flatten(drawn)
    some = data.draw(st.lists(st.booleans(), min_size=len(batch.ids_T), max_size=len(batch.ids_T)))
    counted_T = batch.trained_T & torch.tensor(some)
    weight_T = Aggregation(name=name, length=length).weights(batch, counted_T)
    expected = written_out(name, batch, counted_T, length)
    assert float((weight_T * losses(batch)).sum()) == pytest.approx(expected, abs=1e-4)
    assert not weight_T[~counted_T].any()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30)
@given(drawn=batches, data=st.data())
def test_what_a_token_weighs_does_not_depend_on_where_its_trajectory_stands(
    name: AggregationName, drawn: list[Episode], data: st.DataObject
) -> None:
    batch = flatten(drawn)
    order = data.draw(st.permutations(range(batch.trajectories)))
    aggregation = Aggregation(name=name, length=7.0)
    moved = batch.select(order)
    weighed_here = replace(batch, weight_T=aggregation.weights(batch, batch.trained_T)).select(order)
    assert torch.equal(aggregation.weights(moved, moved.trained_T), weighed_here.weight_T)


@pytest.mark.parametrize("name", NAMES)
def test_where_nothing_counts_every_weight_is_zero(name: AggregationName) -> None:
    batch = weighed(sequences())
    assert not Aggregation(name=name).weights(batch, torch.zeros_like(batch.trained_T)).any()


@pytest.mark.parametrize("name", NAMES)
def test_tokens_of_unlike_trajectories_weigh_the_same_unless_means_are_over_each_alone(name: AggregationName) -> None:
    batch = weighed(sequences())
    weight_N = Aggregation(name=name).weights(batch, batch.trained_T)[batch.trained_T]
    assert (weight_N.unique().numel() > 1) is (name in ("seq-mean-token-mean", "sum-token-mean", "prompt-mean"))


def test_a_length_that_divides_by_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"length=0.*above 0"):
        Aggregation(length=0)
