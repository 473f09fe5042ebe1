from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten, flatten_tokens
from palaestra.trainers.data.layouts import LAYOUTS, LayoutName
from palaestra.trainers.data.micro import split
from palaestra.trajectory import Episode
from trajectories import batches, forests, sequence

NAMES: tuple[LayoutName, ...] = ("packed", "padded", "shared")
anything = batches | forests
budgets = st.integers(1, 40)


def numbered(given: list[Episode]) -> TokenBatch:
    """A batch whose returns tell its trajectories apart."""
    batch = flatten(given)
    return replace(batch, return_R=torch.arange(batch.trajectories).float())


def members(part: TokenBatch) -> list[int]:
    return part.return_R.int().tolist()


def size(batch: TokenBatch, layout: LayoutName) -> int:
    return LAYOUTS[layout](batch).tokens


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(given=anything, tokens=budgets)
def test_every_trajectory_is_whole_in_exactly_one_micro_batch(
    name: LayoutName, given: list[Episode], tokens: int
) -> None:
    batch = numbered(given)
    parts = split(batch, tokens, name)
    assert sorted(one for part in parts for one in members(part)) == list(range(len(given)))
    for part in parts:
        assert part.equals(batch.select(members(part)))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(given=anything, tokens=budgets)
def test_no_pass_exceeds_the_budget_but_a_trajectory_that_does_so_alone(
    name: LayoutName, given: list[Episode], tokens: int
) -> None:
    for part in split(flatten(given), tokens, name):
        assert part.trajectories == 1 or size(part, name) <= tokens


@pytest.mark.parametrize("name", ["packed", "padded"])
@settings(max_examples=25, deadline=None)
@given(given=anything, tokens=budgets)
def test_a_micro_batch_is_closed_only_when_the_next_trajectory_would_not_fit(
    name: LayoutName, given: list[Episode], tokens: int
) -> None:
    batch = numbered(given)
    for part, following in pairwise(split(batch, tokens, name)):
        nexts = [size(batch.select([*members(part), one]), name) for one in members(following)]
        assert max(nexts) > tokens


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=30, deadline=None)
@given(given=anything, tokens=budgets)
def test_equal_batches_are_cut_equally(name: LayoutName, given: list[Episode], tokens: int) -> None:
    first, second = (split(flatten(given), tokens, name) for _ in range(2))
    assert all(one.equals(two) for one, two in zip(first, second, strict=True))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(given=anything)
def test_what_fits_in_one_pass_is_one_micro_batch_as_it_was(name: LayoutName, given: list[Episode]) -> None:
    batch = flatten(given)
    (whole,) = split(batch, size(batch, name), name)
    assert whole.equals(batch)


@settings(max_examples=25, deadline=None)
@given(given=forests, tokens=budgets)
def test_a_group_whose_prefixes_are_shared_stays_together_where_it_fits(given: list[Episode], tokens: int) -> None:
    batch = numbered(given)
    parts = split(batch, tokens, "shared")
    for group in set(batch.group_R.tolist()):
        own = (batch.group_R == group).nonzero()[:, 0].tolist()
        if size(batch.select(own), "shared") <= tokens:
            assert sum(bool(set(own) & set(members(part))) for part in parts) == 1


def test_a_group_is_not_begun_where_it_does_not_fit_whole() -> None:
    tokens = [sequence(1, 2, 3, 4, own=1), sequence(5, 5, 5, 5, 6, 6, own=1), sequence(5, 5, 5, 5, 7, 7, own=1)]
    batch = flatten_tokens(tokens)
    alone, together = batch, replace(batch, group_R=torch.tensor([0, 1, 1]))
    assert [part.trajectories for part in split(alone, 8, "shared")] == [2, 1]
    assert [part.trajectories for part in split(together, 8, "shared")] == [1, 2]
    assert [part.trajectories for part in split(together, 9, "shared")] == [3]


def test_a_group_too_large_for_a_pass_is_cut_between_those_that_begin_most_alike() -> None:
    tokens = [sequence(1, 1, 1, 2, 2, own=1), sequence(3, 3, 3, 3, own=1), sequence(1, 1, 1, 4, own=1)]
    batch = replace(flatten_tokens(tokens), group_R=torch.zeros(3, dtype=torch.long), return_R=torch.arange(3.0))
    assert [members(part) for part in split(batch, 4, "shared")] == [[0, 2], [1]]
