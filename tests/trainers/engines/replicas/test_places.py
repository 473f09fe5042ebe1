"""Where trajectories are drawn: groups stay together, and replicas have equally much to do."""

from collections import Counter

import pytest

from palaestra.seeding import Stream
from palaestra.trainers.engines.replicas.places import ReplicaPlaces


def test_a_group_stays_together_and_groups_spread() -> None:
    places = ReplicaPlaces(3)
    at = {(group, member): places.place(f"{group}/{member}", str(group)) for group in range(6) for member in range(4)}
    for group in range(6):
        assert len({at[group, member] for member in range(4)}) == 1
    assert Counter(at.values()) == {0: 8, 1: 8, 2: 8}


def test_groups_whose_members_come_one_after_the_other_spread_too() -> None:
    places = ReplicaPlaces(2)
    at = {(group, member): places.place(f"{group}/{member}", str(group)) for member in range(4) for group in range(4)}
    assert Counter(at.values()) == {0: 8, 1: 8}


def test_trajectories_without_a_group_are_each_on_their_own() -> None:
    places = ReplicaPlaces(2)
    assert [places.place(str(n), "") for n in range(6)] == [0, 1, 0, 1, 0, 1]


def test_a_trajectory_stays_where_it_is_whatever_comes() -> None:
    places = ReplicaPlaces(2)
    first = places.place("a", "")
    for n in range(5):
        places.place(str(n), "")
    assert places.place("a", "") == first


def test_what_was_released_counts_no_more_and_its_group_may_go_elsewhere() -> None:
    places = ReplicaPlaces(2)
    for member in range(3):
        assert places.place(f"long/{member}", "long") == 0
    assert places.place("short/0", "short") == 1
    assert places.place("other/0", "other") == 1
    assert [places.release(f"long/{member}") for member in range(2)] == [0, 0]
    assert places.place("long/3", "long") == 0
    for name in ("long/2", "long/3"):
        places.release(name)
    assert places.place("long/4", "long") == 0, "it is empty there now"
    for n in range(3):
        places.place(f"filler/{n}", "filler")  # with the fewest: 0
    places.release("long/4")
    assert places.place("long/5", "long") == 1, "nothing held it where it was"


def test_unknown_trajectories_are_released_without_a_word() -> None:
    places = ReplicaPlaces(2)
    assert places.release("never seen") is None
    places.place("a", "")
    places.release("a")
    assert places.release("a") is None


def test_a_recorded_trajectory_goes_where_it_was() -> None:
    places = ReplicaPlaces(2, recorded={"a/0": 1, "a/1": 1, "b/0": 1})
    assert [places.place(name, name[0]) for name in ("a/0", "a/1", "b/0", "c/0")] == [1, 1, 1, 0]


@pytest.mark.parametrize("seed", range(5))
def test_however_they_come_and_go_nothing_is_left_of_them(seed: int) -> None:
    stream = Stream.root("places", seed)
    places, under_way = ReplicaPlaces(3), dict[str, tuple[str, int]]()
    for number in range(400):
        if under_way and stream.below(2):
            name = sorted(under_way)[stream.below(len(under_way))]
            group, replica = under_way.pop(name)
            assert places.release(name) == replica
        else:
            group = str(stream.below(12))
            replica = places.place(str(number), group)
            assert all(replica == other for its_group, other in under_way.values() if its_group == group)
            under_way[str(number)] = (group, replica)
    for name in under_way:
        places.release(name)
    assert [len(left) for left in (places._places, places._groups, places._members)] == [0, 0, 0]
