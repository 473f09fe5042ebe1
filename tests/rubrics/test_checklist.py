from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.envs.state import Overlay
from palaestra.errors import RecordError, RowMissingError, RubricError
from palaestra.records import EndReason, Score, Verdict
from palaestra.rubrics import (
    MET,
    UNMET,
    Checklist,
    Criterion,
    Evidence,
    TurnLog,
    expect_change,
    expect_read,
    forbid_call,
    rescore,
)
from worlds.bench import Bench, BenchFactory, Write
from worlds.library import Book, Loan


def event_is(tool: str, **fields: Any) -> Criterion:
    def check(evidence: Evidence) -> Verdict:
        return MET if evidence.event.tool == tool else UNMET

    return Criterion(id=tool, text=tool, check=check, about="event", **fields)


def copies_are(number: int, **fields: Any) -> Criterion:
    def check(evidence: Evidence) -> Verdict:
        return MET if evidence.state.get(Book, "BK-1").copies == number else UNMET

    return Criterion(id=f"copies-{number}", text="", check=check, tables=frozenset({"books"}), **fields)


def set_copies(number: int) -> Write:
    return lambda state: state.update(state.get(Book, "BK-1"), copies=number)


def test_an_event_pays_once_and_stays_paid(bench: BenchFactory) -> None:
    b = bench(event_is("a"), event_is("b"))
    assert [b.call("a"), b.call("a"), b.call("b"), b.call("c")] == [50, 0, 50, 0]


def test_a_state_pays_when_it_becomes_true_and_pays_back_when_it_stops(bench: BenchFactory) -> None:
    b = bench(copies_are(50), event_is("end"))
    paid = [b.call(write=set_copies(n)) for n in (50, 51, 50)]
    assert paid == [50, -50, 50]


def test_a_prohibition_about_state_takes_and_gives_back_and_one_about_an_event_does_not(bench: BenchFactory) -> None:
    b = bench(event_is("work"), copies_are(50, kind="forbid", points=30), event_is("harm", kind="forbid", points=7))
    assert [b.call(write=set_copies(50)), b.call(write=set_copies(51))] == [-30, 30]
    assert [b.call("harm"), b.call("harm"), b.call("look")] == [-7, 0, 0]
    assert b.checklist.standing().violated == ("harm",)


def test_what_depends_counts_only_after_an_earlier_call(bench: BenchFactory) -> None:
    b = bench(event_is("first"), event_is("second", after=("first",)))
    assert b.call("second") == 0
    assert b.checklist.score(None).verdicts["second"] == Verdict(met=False, reason="done before what had to come first")
    assert [b.call("first"), b.call("second")] == [50, 50]


def test_one_call_does_not_meet_a_criterion_and_what_depends_on_it(bench: BenchFactory) -> None:
    both = Criterion(id="then", text="", check=lambda _: MET, about="event", after=("first",))
    b = bench(event_is("first"), both)
    assert b.call("first") == 50
    assert b.call("other") == 50


def test_a_state_that_came_too_early_must_be_undone_and_done_again(bench: BenchFactory) -> None:
    b = bench(event_is("first"), copies_are(50, after=("first",)))
    assert [b.call(write=set_copies(50)), b.call("first")] == [0, 50]
    other_write = b.call(write=lambda s: s.update(s.get(Book, "BK-2"), copies=50))
    assert other_write == 0
    assert not b.checklist.score(None).verdicts["copies-50"].met, "a verdict never says met of what does not count"
    assert [b.call(write=set_copies(51)), b.call(write=set_copies(50))] == [0, 50]


def test_only_criteria_about_the_tables_that_were_written_are_asked(bench: BenchFactory) -> None:
    asked: list[str] = []

    def check(evidence: Evidence) -> Verdict:
        asked.append(evidence.event.tool)
        return UNMET

    by_table = Criterion(id="t", text="", check=check, tables=frozenset({"loans"}))
    b = bench(by_table, event_is("e", tools=frozenset({"e"})))
    b.call("reads")
    b.call("books", write=set_copies(50))
    b.call("loans", write=lambda s: s.delete(s.get(Loan, "LN-1")))
    assert asked == ["loans"]


def test_an_event_criterion_is_asked_only_about_its_tools(bench: BenchFactory) -> None:
    asked: list[str] = []

    def check(evidence: Evidence) -> Verdict:
        asked.append(evidence.event.tool)
        return UNMET

    b = bench(Criterion(id="t", text="", check=check, about="event", tools=frozenset({"a", "b"})))
    for tool in "abc":
        b.call(tool)
    assert asked == ["a", "b"]


def test_missing_evidence_is_not_evidence(bench: BenchFactory) -> None:
    def check(evidence: Evidence) -> Verdict:
        evidence.state.get(Book, "BK-404")
        return MET

    b = bench(Criterion(id="c", text="", check=check, about="event"))
    assert b.call() == 0
    assert b.checklist.score(None).verdicts["c"].reason == str(RowMissingError.of("Book", "BK-404"))


def test_a_check_that_crashes_is_a_fault_of_the_rubric(bench: BenchFactory) -> None:
    def check(_: Evidence) -> Verdict:
        raise ZeroDivisionError("one by nought")

    b = bench(Criterion(id="c", text="", check=check, about="event"))
    with pytest.raises(RubricError, match=r"criterion 'c' crashed: ZeroDivisionError\('one by nought'\)"):
        b.call()


def test_a_state_that_holds_before_anything_is_done_is_refused(bench: BenchFactory) -> None:
    now = bench(event_is("x")).state.get(Book, "BK-1").copies
    b = bench(copies_are(now))
    with pytest.raises(RubricError, match="holds before anything is done; expect a change, not a fact"):
        b.checklist.begin(b.evidence)
    bench(copies_are(50)).checklist.begin(b.evidence)


def test_an_answer_is_asked_for_once_at_the_end(bench: BenchFactory) -> None:
    b = bench(event_is("a"), Criterion(id="ans", text="", check=lambda e: MET if e.answer else UNMET, about="answer"))
    assert b.call("a") == 50
    assert b.finish({"x": 1}) == 50
    assert b.checklist.score(EndReason.FINISHED).passed


def test_passing_takes_every_expectation_no_violation_and_a_finish(bench: BenchFactory) -> None:
    b = bench(event_is("a"), event_is("harm", kind="forbid", points=1))
    assert not b.checklist.score(EndReason.FINISHED).passed
    b.call("a")
    assert b.checklist.score(EndReason.FINISHED).passed
    for end in (None, EndReason.GAVE_UP, EndReason.MAX_TURNS):
        assert not b.checklist.score(end).passed
    b.call("harm")
    assert not b.checklist.score(EndReason.FINISHED).passed


def test_a_snapshot_goes_on_as_its_origin_did(bench: BenchFactory) -> None:
    b = bench(event_is("a"), copies_are(50), event_is("b", after=("a",)))
    b.call("b")
    b.call(write=set_copies(50))
    snapshot = b.checklist.snapshot()
    b.call("a")
    later = b.checklist.score(None)
    other = Checklist(b.rubric)
    other.restore(snapshot)
    assert other.snapshot() == snapshot
    other.update(b.evidence)
    assert other.score(None) == later


Deed: TypeAlias = str | int | tuple[str, int]

DEEDS: st.SearchStrategy[list[Deed]] = st.lists(
    st.sampled_from(["a", "b", "harm", "look"]) | st.integers(48, 52) | st.tuples(st.just("see"), st.integers(1, 3)),
    max_size=12,
)


def full_bench() -> Bench:
    probe = Bench(event_is("a"))
    books = probe.state.find(Book)
    return Bench(
        event_is("a", layer="params"),
        event_is("b", after=("a",), layer="task"),
        expect_read(books[0], points=11),
        expect_change(books[0], {"copies": 50}, after=[f"saw-{books[0].id}"]),
        forbid_call("harm", points=9),
        copies_are(49, kind="forbid", points=20),
        given=frozenset(b.id for b in books),
    )


def do(b: Bench, step: Deed) -> int:
    match step:
        case str():
            return b.call(step)
        case int():
            return b.call("write", write=set_copies(step))
        case _:
            return b.see(b.state.find(Book)[step[1] - 1])


@given(steps=DEEDS)
def test_rewards_telescope_and_components_sum_to_the_points(steps: list[Deed]) -> None:
    b = full_bench()
    total = 0
    for step in steps:
        total += do(b, step)
        score = b.checklist.score(None)
        assert total == score.points == sum(score.components.values())
        assert b.rubric.worst <= total <= 100
        assert (score.points == 100) <= (not b.checklist.standing().violated)
        counted = {*b.checklist.standing().met, *b.checklist.standing().violated}
        assert {id_ for id_, verdict in score.verdicts.items() if verdict.met} == counted


@given(steps=DEEDS)
def test_the_log_is_worth_what_the_episode_was(steps: list[Deed]) -> None:
    b = full_bench()
    scores: list[Score] = []
    logs: list[TurnLog] = []
    for step in steps:
        mark = len(b.state.journal)
        do(b, step)
        scores.append(b.checklist.score(None))
        logs.append(
            TurnLog(events=(b.evidence.event,), changes=tuple(b.state.journal[mark:]), answer={}, end=None, heard=())
        )
    fresh = full_bench()
    assert list(rescore(fresh.rubric, fresh.evidence, fresh.state, logs)) == scores
    assert fresh.state.state_hash() == b.state.state_hash()


def test_a_log_rescores_inserts_deletions_and_the_answer(bench: BenchFactory) -> None:
    criteria = (event_is("a"), Criterion(id="ans", text="", check=lambda e: MET if e.answer else UNMET, about="answer"))
    b = bench(*criteria)
    loan = b.state.get(Loan, "LN-1")

    def strike_and_enter(state: Overlay) -> None:
        state.delete(loan)
        state.insert(loan)

    b.call("a", write=strike_and_enter)
    log = TurnLog(
        events=(b.evidence.event,), changes=tuple(b.state.journal), answer={"x": 1}, end=EndReason.FINISHED, heard=()
    )
    fresh = bench(*criteria)
    (score,) = rescore(fresh.rubric, fresh.evidence, fresh.state, [log])
    assert score.passed
    assert fresh.state.journal == b.state.journal


def test_a_log_whose_events_do_not_account_for_its_changes_is_refused(bench: BenchFactory) -> None:
    b = bench(event_is("a"))
    b.call("a", write=set_copies(50))
    log = TurnLog(events=(), changes=tuple(b.state.journal), answer={}, end=None, heard=())
    fresh = bench(event_is("a"))
    with pytest.raises(RecordError, match=r"turn 1: 1 change\(s\) belong to no call"):
        list(rescore(fresh.rubric, fresh.evidence, fresh.state, [log]))
