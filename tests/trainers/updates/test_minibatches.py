"""Shares of a batch: every trajectory in one, groups together where they have to be, and which passes are taken."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from complete import complete
from counting import Counting
from palaestra.seeding import Stream
from palaestra.trainers.updates.minibatches import shares
from palaestra.trainers.updates.passes import fill_columns, fill_current_logprobs


@given(updates=st.integers(1, 5), joined=st.booleans(), seed=st.integers(0, 9))
def test_every_trajectory_is_in_one_share_and_groups_stay_together_if_asked(
    updates: int, joined: bool, seed: int
) -> None:
    batch = complete()
    found = shares(batch, updates, Stream.root("shares", seed), joined=joined)
    assert len(found) == updates
    assert Counter(one for share in found for one in share) == Counter(range(batch.trajectories))
    assert all(share == sorted(share) for share in found)
    if joined:
        whose = [{int(batch.group_R[one]) for one in share} for share in found]
        assert sum(map(len, whose)) == len(set().union(*whose))
    else:
        assert max(map(len, found)) - min(map(len, found)) <= 1


def test_the_same_stream_divides_in_the_same_way() -> None:
    one, other, another = (shares(complete(), 3, Stream.root("x", n), joined=False) for n in (0, 0, 1))
    assert one == other
    assert one != another


@pytest.mark.parametrize(
    ("requires", "passes"),
    [
        (set[str](), []),
        ({"anchor_U"}, []),
        ({"old_T", "entropy_T"}, [("entropy", "logp")]),
        ({"square_T", "proxy_T", "old_T"}, [("logp", "proxy", "square")]),
        ({"norm_R"}, ["norms"]),
    ],
)
def test_a_pass_is_taken_only_for_what_is_read_and_once_for_all_of_it(requires: set[str], passes: list[object]) -> None:
    policy = Counting()
    fill_columns(complete(), requires, policy)
    assert policy.passes == passes


def test_the_reference_is_asked_for_what_it_says() -> None:
    policy, reference = Counting(), Counting(value=-3.0)
    batch = fill_columns(complete(), {"ref_T"}, policy, reference=reference)
    assert (policy.passes, reference.passes) == ([], [("logp",)])
    assert (batch.column("ref_T")[batch.trained_T] == -3.0).all()


def test_before_the_first_step_now_is_what_it_was_and_afterwards_it_is_asked_for() -> None:
    policy = Counting(value=-2.0)
    batch = complete()
    first = fill_current_logprobs(batch, {"now_T"}, policy, first=True)
    assert torch.equal(first.column("now_T"), batch.column("old_T"))
    assert policy.passes == []
    later = fill_current_logprobs(batch, {"now_T"}, policy, first=False)
    assert (later.column("now_T")[batch.trained_T] == -2.0).all()
    assert policy.passes == [("logp",)]
    assert fill_current_logprobs(batch, set(), policy, first=False) is batch
