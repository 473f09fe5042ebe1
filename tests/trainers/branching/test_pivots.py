"""Where a group can be gone on from: before any harm, before the end, and before a record is chosen."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.records import ShownColumns
from palaestra.seeding import Stream
from palaestra.trainers.branching import best_pivot, first_naming, naming_pivot, recoverable_pivot
from palaestra.trainers.data.own import harmless_turns
from palaestra.trajectory import Episode, Segment, Turn
from trajectories import episode, event, turn

STREAM = Stream.root("pivots")


def act(*named: str, shown: tuple[str, ...] = (), listed: tuple[str, ...] = (), harm: bool = False) -> Turn:
    """A turn that names records and is shown others, whole or in columns."""
    columns = (ShownColumns(table="lines", keys=listed, columns=("name",)),) if listed else ()
    happened = replace(event(), named=named, shown=tuple(("lines", key) for key in shown), columns=columns)
    return replace(turn(0.0), events=(happened,), violated=("harm",) if harm else ())


def playing(*turns: Turn) -> Episode:
    return episode(Segment(prompt=(), turns=turns))


def test_a_record_is_chosen_where_one_of_several_is_named_first() -> None:
    turns = [act("ORD-1", shown=("L-1", "L-2")), act("ORD-2"), act("L-2"), act("L-1")]
    assert first_naming(turns) == 2


@pytest.mark.parametrize(
    "turns",
    [
        [act("ORD-1", shown=("L-1",)), act("L-1")],  # there is no other
        [act("ORD-1"), act("L-1")],  # nothing was shown
        [act("L-1"), act("ORD-1", shown=("L-1", "L-2")), act("L-1")],  # it was chosen before
        [act("ORD-1", shown=("L-1", "L-2")), act("X-1")],  # none is named
        [],
    ],
)
def test_what_is_no_choice_of_a_record(turns: list[Turn]) -> None:
    assert first_naming(turns) is None


def test_records_of_different_tables_are_no_choice() -> None:
    mixed = replace(event(), shown=(("lines", "L-1"), ("orders", "ORD-1")))
    assert first_naming([replace(turn(0.0), events=(mixed,)), act("L-1")]) is None


def test_records_that_are_shown_in_columns_are_candidates() -> None:
    assert first_naming([act("ORD-1", listed=("L-1", "L-2")), act("L-1")]) == 1


def test_a_choice_behind_harm_or_at_the_end_is_no_pivot() -> None:
    before = act("ORD-1", shown=("L-1", "L-2"))
    assert naming_pivot([playing(before, act(harm=True), act("L-1"), act())], STREAM) is None
    found = naming_pivot([playing(before, act(), act("L-1", harm=True), act())], STREAM)
    assert found is not None
    assert (found.member, found.turns, found.ratio) == (0, 2, 0.5), "the harm is done anew"
    assert naming_pivot([playing(before)], STREAM) is None


@st.composite
def groups(draw: st.DrawFn) -> list[Episode]:
    """Trajectories with harm here and there, and points."""
    members: list[Episode] = []
    for _ in range(draw(st.integers(1, 4))):
        count = draw(st.integers(1, 6))
        harm = draw(st.integers(0, 8))
        rewards = draw(st.lists(st.sampled_from([-5.0, 0.0, 5.0]), min_size=count, max_size=count))
        keys = st.sampled_from(["A", "B", "C"])
        turns = [
            replace(act(*draw(st.lists(keys, max_size=1)), shown=("A", "B"), harm=place >= harm), reward=reward)
            for place, reward in enumerate(rewards)
        ]
        members.append(playing(*turns))
    return members


@settings(max_examples=200)
@given(groups(), st.integers(0, 99))
def test_every_pivot_lies_behind_a_turn_and_before_harm_and_the_end(members: list[Episode], seed: int) -> None:
    stream = Stream.root(seed)
    found = [
        best_pivot(members),
        recoverable_pivot(members, None, stream.split("a"), depth=2.0),
        naming_pivot(members, stream.split("b")),
    ]
    for pivot in found:
        if pivot is not None:
            turns = list(members[pivot.member].turns)
            assert 1 <= pivot.turns <= harmless_turns(members[pivot.member]) < len(turns)
            assert not any(one.violated for one in turns[: pivot.turns])
            assert pivot.ratio == pivot.turns / len(turns)
    assert (found[1] is None) == all(harmless_turns(one) == 0 for one in members)
