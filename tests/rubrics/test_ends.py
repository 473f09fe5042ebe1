"""What an end is worth: unfinished work, an honest admission, and work that came before its look-ups."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.records import EndReason
from palaestra.rubrics import Checklist, Criterion, Rubric, expect_call, expect_change, guards, rescore
from palaestra.rubrics.rescore import TurnLog
from palaestra.rubrics.rubric import ADMITTED, LOOKUPS, TOTAL, UNFINISHED
from worlds.bench import BASE, Bench, Write
from worlds.library import Book

UNFINISHED_ENDS = [end for end in EndReason if end.is_unfinished]
FACTS = ["looked-0", "looked-1", "looked-2", "looked-3"]


def look(number: int) -> Criterion:
    return expect_call(f"look{number}", id=f"looked-{number}")


def bench(refused_by: frozenset[str] = frozenset()) -> Bench:
    """Four look-ups, and a write that waits for them."""
    book = BASE.rows["books"]["BK-1"]
    work = expect_change(book, {"copies": 9}, id="done", after=FACTS)
    made = Bench(*map(look, range(4)), work, *guards(work.allows))
    made.rubric = Rubric(made.rubric.criteria, refused_by=refused_by)
    made.checklist = Checklist(made.rubric)
    return made


def set_copies(number: int) -> Write:
    return lambda state: state.update(state.get(Book, "BK-1"), copies=number)


def do(b: Bench, *lookups: int, write: int | None = 9) -> None:
    for number in lookups:
        b.call(f"look{number}")
    if write is not None:
        b.call("write", write=set_copies(write))


def test_the_ends_are_told_apart() -> None:
    assert {*EndReason} - {*UNFINISHED_ENDS} == {EndReason.FINISHED, EndReason.USER_LEFT, EndReason.DEADLINE}


@pytest.mark.parametrize("end", list(EndReason))
def test_an_unfinished_episode_keeps_little_and_is_not_solved(end: EndReason) -> None:
    b = bench()
    do(b, 0, 1, 2, 3)
    assert b.checklist.points == TOTAL
    b.finish(end=end)
    score = b.checklist.score(end)
    assert (score.points, score.passed) == ((UNFINISHED, False) if end.is_unfinished else (TOTAL, True))
    assert sum(score.components.values()) == score.points


@pytest.mark.parametrize("end", UNFINISHED_ENDS)
def test_an_unfinished_episode_with_little_keeps_it(end: EndReason) -> None:
    b = bench()
    do(b, 0, 1, 2, 3, write=None)
    b.finish(end=end)
    assert b.checklist.points == LOOKUPS
    b = bench()
    do(b, 0, write=8)
    harmed = b.checklist.points
    b.finish(end=end)
    assert b.checklist.points == harmed < 0


@pytest.mark.parametrize("missing", range(5))
def test_each_missing_look_up_takes_its_share_of_the_work_and_the_work_does_not_count_as_met(missing: int) -> None:
    b = bench()
    do(b, *range(4 - missing))
    b.finish()
    score = b.checklist.score(EndReason.FINISHED)
    lookups = sum(b.rubric.points[: 4 - missing])
    assert score.points == lookups + (TOTAL - LOOKUPS) * (4 - missing) // 4
    assert score.passed is (missing == 0)
    assert score.verdicts["done"].met is (missing == 0)
    assert sum(score.components.values()) == score.points


def test_work_that_is_made_again_in_order_counts_whole() -> None:
    b = bench()
    do(b, 0, 1, 2)
    do(b, 3, write=1)
    assert "done" not in b.checklist.standing().met
    do(b)
    assert "done" in b.checklist.standing().met


def test_a_look_up_afterwards_does_not_make_early_work_good() -> None:
    b = bench()
    do(b, 0, 1, 2)
    do(b, 3, write=None)
    b.finish()
    assert not b.checklist.score(EndReason.FINISHED).passed
    assert b.checklist.points == LOOKUPS + (TOTAL - LOOKUPS) * 3 // 4


def give_up(b: Bench, reason: object, known: frozenset[str] = frozenset({"RULE-1"})) -> int:
    b.call("look9", mentioned=known)
    b.call("give_up", arguments={"reason": reason})
    b.finish(end=EndReason.GAVE_UP)
    return b.checklist.points


def test_an_admission_with_its_reason_wins_more_than_look_ups_and_less_than_the_work() -> None:
    b = bench(frozenset({"RULE-1"}))
    do(b, 0, 1, 2, 3, write=None)
    assert give_up(b, "RULE-1 rules it out.") == ADMITTED
    assert not b.checklist.score(EndReason.GAVE_UP).passed
    assert LOOKUPS < ADMITTED < UNFINISHED


MANY = frozenset(f"RULE-{n}" for n in range(1, 9))


@pytest.mark.parametrize(
    ("lookups", "write", "reason", "refused_by"),
    [
        ((0, 1, 2, 3), None, "I can not do it.", {"RULE-1"}),
        ((0, 1, 2, 3), None, "RULE-2", {"RULE-1"}),
        ((0, 1, 2, 3), None, " ".join(sorted(MANY)), {"RULE-1"}),
        ((0, 1, 2, 3), None, "RULE-77", {"RULE-77"}),
        ((0, 1, 2, 3), None, 7, {"RULE-1"}),
        ((0, 1, 2), None, "RULE-1", {"RULE-1"}),
        ((0, 1, 2, 3), None, "RULE-1", set[str]()),
        ((0, 1, 2, 3), 8, "RULE-1", {"RULE-1"}),
        ((0, 1, 2, 3), 9, "RULE-1", {"RULE-1"}),
    ],
    ids=["no reason", "another", "all of them", "unseen", "no text", "unread", "no refusal", "harm", "after the work"],
)
def test_an_admission_that_is_none_wins_nothing(
    lookups: tuple[int, ...], write: int | None, reason: object, refused_by: set[str]
) -> None:
    b = bench(frozenset(refused_by))
    do(b, *lookups, write=write)
    before = b.checklist.points
    assert give_up(b, reason, MANY) == min(before, UNFINISHED)


@given(st.lists(st.sampled_from([0, 1, 2, 3, "write", "undo"]), max_size=12), st.sampled_from(list(EndReason)))
def test_the_log_is_worth_what_the_episode_was_whatever_ended_it(steps: list[int | str], end: EndReason) -> None:
    b = bench(frozenset({"RULE-1"}))
    logs: list[TurnLog] = []
    for step in steps:
        mark = len(b.state.journal)
        if isinstance(step, int):
            b.call(f"look{step}", mentioned=frozenset({"RULE-1"}))
        else:
            b.call("write", write=set_copies(9 if step == "write" else 1))
        logs.append(
            TurnLog(events=(b.evidence.event,), changes=tuple(b.state.journal[mark:]), answer={}, end=None, heard=())
        )
    b.call("give_up", arguments={"reason": "RULE-1"})
    b.finish(end=end)
    logs.append(TurnLog(events=(b.evidence.event,), changes=(), answer={}, end=end, heard=()))
    fresh = bench(frozenset({"RULE-1"}))
    *_, score = rescore(fresh.rubric, fresh.evidence, fresh.state, logs)
    assert score == b.checklist.score(end)


@given(st.lists(st.sampled_from([0, 1, 2, 3, "write", "undo"]), max_size=12), st.sampled_from(list(EndReason)))
def test_a_restored_checklist_goes_on_alike(steps: list[int | str], end: EndReason) -> None:
    b = bench()
    for step in steps:
        if isinstance(step, int):
            b.call(f"look{step}")
        else:
            b.call("write", write=set_copies(9 if step == "write" else 1))
    b.finish(end=end)
    copy = Checklist(b.rubric)
    copy.restore(b.checklist.snapshot())
    assert copy.snapshot() == b.checklist.snapshot()
    assert copy.score(end) == b.checklist.score(end)


def test_a_message_wins_nothing_where_no_outcome_was_reached() -> None:
    book = BASE.rows["books"]["BK-1"]
    told = expect_call("reply", id="told", layer="task", points=10, after=["looked-0"])
    work = expect_change(book, {"copies": 9}, id="done", after=["looked-0"])
    idle, partial = (Bench(look(0), look(1), work, told) for _ in range(2))
    for b in (idle, partial):
        b.call("look0")
        b.call("look1")
        assert b.call("reply") == 10
    assert idle.finish() == -10
    assert idle.checklist.score(EndReason.FINISHED).components["task"] == 0
    partial.call("write", write=set_copies(9))
    assert partial.finish() == 0


def test_a_message_alone_is_work_where_no_outcome_is_expected() -> None:
    b = Bench(look(0), expect_call("reply", id="told", layer="task", after=["looked-0"]))
    b.call("look0")
    b.call("reply")
    b.finish()
    assert b.checklist.points == TOTAL
