from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.trainers.data.batch import TokenBatch, concatenate
from palaestra.trainers.data.flatten import flatten
from palaestra.trajectory import Episode, Segment
from trajectories import batches, episode, sequence, turn


def padded_as(batch: TokenBatch, wide: TokenBatch) -> TokenBatch:
    """`batch` with columns as wide as those of `wide`."""
    return batch.with_columns(
        {
            name: torch.cat([array, array.new_zeros(len(array), wide.column(name).shape[1] - array.shape[1])], 1)
            for name, array in batch.columns.items()
            if array.dim() == 2
        }
    )


@settings(max_examples=30, deadline=None)
@given(given=batches, data=st.data())
def test_selected_trajectories_are_what_flattening_them_alone_gives(given: list[Episode], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(given))))
    chosen = order[: data.draw(st.integers(1, len(given)))]
    batch = flatten(given)
    selected, alone = batch.select(chosen), flatten([given[place] for place in chosen])
    assert selected.equals(padded_as(replace(alone, group_R=batch.group_R[chosen]), batch))


@settings(max_examples=30, deadline=None)
@given(given=batches)
def test_an_advantage_goes_with_its_token(given: list[Episode]) -> None:
    batch = flatten(given)
    marked = replace(batch, advantage_T=torch.arange(len(batch.ids_T)).float())
    back = marked.select(range(marked.trajectories)[::-1]).select(range(marked.trajectories)[::-1])
    assert back.equals(marked)


@settings(max_examples=30, deadline=None)
@given(first=batches, second=batches)
def test_batches_put_together_are_their_trajectories_with_groups_of_their_own(
    first: list[Episode], second: list[Episode]
) -> None:
    one, two = flatten(first), flatten(second)
    both = concatenate([one, two])
    apart = [replace(e, group=e.group and f"second {e.group}") for e in second]
    assert both.equals(flatten([*first, *apart]))
    assert both.select(range(len(first))).equals(padded_as(one, both))
    assert concatenate([one]).equals(one)


def test_columns_go_with_their_token_turn_and_trajectory() -> None:
    both = Segment(prompt=(), turns=(turn(1.0),), tokens=sequence(5, 6, 7, own=2))
    batch = flatten([episode(both), episode(both, both)])
    told = batch.with_columns(
        {
            "old_T": torch.arange(9).double(),
            "anchor_U": torch.tensor([10, 20, 30]),
            "met_UC": torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
            "points_RC": torch.tensor([[0.5, 0.5], [1.0, 0.0]]),
        }
    )
    second = told.select([1])
    assert second.column("old_T").tolist() == [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    assert second.column("anchor_U").tolist() == [20, 30]
    assert second.column("met_UC").tolist() == [[0.0, 1.0], [1.0, 1.0]]
    assert second.column("points_RC").tolist() == [[1.0, 0.0]]
    assert told.select([1, 0]).select([1, 0]).equals(told)
    assert told.select([1, 0]).column("anchor_U").tolist() == [20, 30, 10]


def test_columns_of_unlike_width_are_put_together_as_wide_as_the_widest() -> None:
    batch = flatten([episode(Segment(prompt=(), turns=(turn(1.0),), tokens=sequence(5, 6, own=1)))])
    narrow = batch.with_columns({"met_UC": torch.ones(1, 1)})
    wide = batch.with_columns({"met_UC": torch.full((1, 3), 2.0)})
    together = concatenate([narrow, wide, batch])
    assert together.column("met_UC").tolist() == [[1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    assert together.column("points_RC").shape == (3, 0)


@settings(max_examples=30, deadline=None)
@given(given=batches)
def test_batches_differ_where_any_array_does(given: list[Episode]) -> None:
    batch = flatten(given)
    assert batch.equals(batch.to(torch.device("cpu")))
    assert not batch.equals(replace(batch, return_R=batch.return_R + 1))
    assert not batch.equals(replace(batch, ids_T=batch.ids_T[1:]))


@settings(max_examples=20, deadline=None)
@given(st.lists(batches, min_size=1, max_size=3))
def test_groups_flattened_one_by_one_are_the_batch_of_all(groups: list[list[Episode]]) -> None:
    named = [[replace(one, group=f"g{number}") for one in group] for number, group in enumerate(groups)]
    everything = [one for group in named for one in group]
    assert concatenate([flatten(group) for group in named]).equals(flatten(everything))
