from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.trainers.data.batch import concatenate
from palaestra.trainers.data.flatten import flatten
from palaestra.trajectory import Episode
from trajectories import batches


@settings(max_examples=30, deadline=None)
@given(given=batches, data=st.data())
def test_selected_trajectories_are_what_flattening_them_alone_gives(given: list[Episode], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(given))))
    chosen = order[: data.draw(st.integers(1, len(given)))]
    batch = flatten(given)
    selected, alone = batch.select(chosen), flatten([given[place] for place in chosen])
    assert selected.equals(replace(alone, group_R=batch.group_R[chosen]))


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
    assert both.select(range(len(first))).equals(one)
    assert concatenate([one]).equals(one)


@settings(max_examples=30, deadline=None)
@given(given=batches)
def test_batches_differ_where_any_array_does(given: list[Episode]) -> None:
    batch = flatten(given)
    assert batch.equals(batch.to(torch.device("cpu")))
    assert not batch.equals(replace(batch, return_R=batch.return_R + 1))
    assert not batch.equals(replace(batch, ids_T=batch.ids_T[1:]))
