"""Rows that the world wrote by itself are no changes of the agent's: live, after a restore, and from the log."""

from dataclasses import replace
from functools import partial

import pytest

from palaestra.envs.state import Overlay
from palaestra.records import RowChange
from palaestra.rubrics import WORLD, TurnLog, expect_change, guards, rescore
from worlds.bench import BASE, EVENT, Bench
from worlds.library import Book, Member

GOAL = expect_change(BASE.listings["members"][0], {"blocked": True}, id="goal")


def bench() -> Bench:
    return Bench(GOAL, *guards(GOAL.allows))


def copies(bench: Bench, number: int, key: str = "BK-1") -> None:
    bench.state.update(bench.state.get(Book, key), copies=number)


def _write(state: Overlay, *, number: int, key: str) -> None:
    state.update(state.get(Book, key), copies=number)


def by_world(bench: Bench, number: int, key: str = "BK-1") -> None:
    """The world writes one row."""
    mark = len(bench.state.journal)
    copies(bench, number, key)
    bench.evidence.take_in_world_changes(bench.state.journal[mark:])
    bench.evidence.events.append(replace(EVENT, tool=WORLD, written=len(bench.state.journal) - mark))
    bench.checklist.update(bench.evidence)


def changes(bench: Bench) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    for change in bench.evidence.changes:
        assert isinstance(change.before, Book)
        assert isinstance(change.after, Book)
        found.append((change.key, change.before.copies, change.after.copies))
    return found


def test_a_row_as_the_world_left_it_is_no_change_and_no_collateral() -> None:
    table = bench()
    by_world(table, 8)
    assert changes(table) == []
    assert table.checklist.standing().violated == ()
    by_world(table, 9)
    assert changes(table) == []


def test_what_the_agent_does_to_such_a_row_is_measured_from_there() -> None:
    table = bench()
    by_world(table, 8)
    assert table.call(write=lambda _: copies(table, 7)) < 0
    assert changes(table) == [("BK-1", 8, 7)]


def test_making_it_as_it_was_at_first_is_a_change_too() -> None:
    table = bench()
    first = table.state.get(Book, "BK-1").copies
    by_world(table, first + 5)
    assert table.call(write=lambda _: copies(table, first)) < 0
    assert changes(table) == [("BK-1", first + 5, first)]


def test_a_world_that_takes_its_own_change_back_has_changed_nothing() -> None:
    table = bench()
    first = table.state.get(Book, "BK-1").copies
    by_world(table, first + 5)
    by_world(table, first)
    assert changes(table) == []


def test_another_row_s_change_is_seen_beside_the_world_s() -> None:
    table = bench()
    before = table.state.get(Book, "BK-2").copies
    by_world(table, 8)
    table.call(write=lambda _: copies(table, before + 1, "BK-2"))
    assert changes(table) == [("BK-2", before, before + 1)]


def test_what_is_known_of_the_agent_s_changes_is_what_working_them_out_again_gives() -> None:
    table = bench()
    steps = ((by_world, 8, "BK-1"), (None, 9, "BK-2"), (by_world, 3, "BK-2"), (by_world, 4, "BK-3"), (None, 5, "BK-3"))
    for by, number, key in steps:
        if by is None:
            table.call(write=partial(_write, number=number, key=key))
        else:
            by_world(table, number, key)
        known = changes(table)
        table.evidence.went_back()
        assert changes(table) == known


def test_going_back_works_it_out_again_from_events_and_journal() -> None:
    table = bench()
    table.call(write=lambda _: copies(table, 30, "BK-3"))
    by_world(table, 8)
    known, found = dict(table.evidence.by_world), changes(table)
    table.evidence.by_world = {("books", "BK-9"): None}
    table.evidence.went_back()
    assert table.evidence.by_world == known
    assert changes(table) == found
    table.evidence.events.clear()
    table.evidence.went_back()
    assert table.evidence.by_world == {}


@pytest.mark.parametrize("tool", [WORLD, "look"])
def test_the_log_tells_whose_write_it_was(tool: str) -> None:
    table = bench()
    book = table.state.get(Book, "BK-1")
    change = RowChange(table="books", key="BK-1", before=book, after=replace(book, copies=8))
    member = table.state.get(Member, "MEM-1")
    block = RowChange(table="members", key="MEM-1", before=member, after=replace(member, blocked=True))
    events = (replace(EVENT, tool=tool, written=1), replace(EVENT, written=1))
    fresh = Bench(GOAL, *guards(GOAL.allows))
    log = TurnLog(events=events, changes=(change, block), answer={}, end=None, heard=())
    [score] = rescore(fresh.rubric, fresh.evidence, fresh.state, [log])
    assert isinstance(fresh.state, Overlay)
    assert score.verdicts["collateral"].met is (tool != WORLD)
    assert score.points == (100 if tool == WORLD else 0)
