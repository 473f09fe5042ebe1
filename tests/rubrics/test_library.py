from dataclasses import replace
from typing import Any

import pytest

from palaestra.envs.state import Overlay
from palaestra.errors import RubricError
from palaestra.records import EndReason, RowChange, ShownColumns
from palaestra.rubrics import (
    HARM,
    Allowance,
    expect_answer,
    expect_any,
    expect_call,
    expect_change,
    expect_read,
    expect_row,
    forbid_call,
    guards,
)
from palaestra.rubrics import forbid_guessed_ids as ungrounded_criterion
from palaestra.rubrics.criterion import changed_columns
from palaestra.rubrics.guards import SLIP, STANDING, STANDING_CASE
from worlds.bench import BenchFactory, Write
from worlds.library import Book, Loan, Member

BOOK = Book(id="BK-70", title="T", blurb=None, tags=(), copies=1)


def test_seeing_a_row_takes_a_call_that_shows_it_whole(bench: BenchFactory) -> None:
    b = bench(expect_read(BOOK))
    assert b.call(mentioned=frozenset({BOOK.id})) == 0
    assert b.see(replace(BOOK, id="BK-71")) == 0
    assert b.see(BOOK) == 100


def test_a_row_that_was_just_written_was_not_looked_up(bench: BenchFactory) -> None:
    b = bench(expect_read(BOOK))
    assert b.see(BOOK, write=insert) == 0


def test_seeing_a_row_by_a_guessed_id_does_not_count_until_the_id_is_known(bench: BenchFactory) -> None:
    b = bench(expect_read(BOOK))
    assert b.see(BOOK, named=(BOOK.id,)) == 0
    assert "could not know" in b.checklist.score(None).verdicts["saw-BK-70"].reason
    assert b.see(BOOK, named=(BOOK.id,)) == 0, "a lucky guess teaches nothing"
    b.call(mentioned=frozenset({BOOK.id}))
    assert b.see(BOOK, named=(BOOK.id,)) == 100


def test_an_id_that_the_task_names_is_no_guess(bench: BenchFactory) -> None:
    assert bench(expect_read(BOOK), given=frozenset({BOOK.id})).see(BOOK, named=(BOOK.id,)) == 100


def part(*columns: str, keys: tuple[str, ...] = (BOOK.id,), table: str = "books") -> tuple[ShownColumns, ...]:
    """What an answer shows of the book."""
    return (ShownColumns(table=table, keys=keys, columns=columns),)


def test_any_answer_that_shows_the_decisive_fields_counts_whatever_its_tool(bench: BenchFactory) -> None:
    b = bench(expect_read(BOOK, fields=["copies"]))
    assert b.call(mentioned=frozenset({BOOK.id})) == 0, "a name is no field"
    assert b.call(columns=part("title")) == 0
    assert b.call(columns=part("copies", keys=("BK-71",))) == 0
    assert b.call(columns=part("copies", table="loans")) == 0
    assert b.call("whatever", columns=part("title", "copies", keys=("BK-71", BOOK.id))) == 100


def test_fields_shown_by_several_answers_count_together_and_all_of_them_by_default(bench: BenchFactory) -> None:
    b = bench(expect_read(BOOK))
    assert b.call(columns=part("title", "blurb")) == 0
    assert b.call(columns=part("tags")) == 0
    assert b.call(columns=part("copies")) == 100


def test_fields_of_a_guessed_row_or_of_a_row_just_written_are_not_evidence(bench: BenchFactory) -> None:
    b = bench(expect_read(BOOK, fields=["copies", "title"]))
    assert b.call(columns=part("copies"), named=(BOOK.id,)) == 0
    assert b.call(columns=part("copies"), write=insert) == 0
    assert b.call(columns=part("title"), mentioned=frozenset({BOOK.id})) == 0, "neither of the others counts"
    assert b.call(columns=part("title"), named=("BK-99",)) == 0
    assert b.call(columns=part("copies"), named=(BOOK.id,)) == 100


def test_evidence_of_fields_is_the_same_after_a_snapshot(bench: BenchFactory) -> None:
    b = bench(expect_read(BOOK, fields=["copies", "title"]))
    b.call(columns=part("copies"))
    snapshot = b.checklist.snapshot()
    b.call(columns=part("title"))
    del b.evidence.events[1:]
    b.checklist.restore(snapshot)
    b.evidence.went_back()
    assert not b.evidence.has_shown("books", BOOK.id, {"title"})
    assert b.call(columns=part("title")) == 100


def test_a_field_that_the_row_has_not_is_an_error() -> None:
    with pytest.raises(RubricError, match=r"unknown column of books 'copys'; did you mean 'copies'\?"):
        expect_read(BOOK, fields=["copys"])


def test_either_route_is_enough(bench: BenchFactory) -> None:
    for step in ("call", "see"):
        b = bench(expect_any(expect_read(BOOK), expect_call("ask"), id="knows"))
        assert b.call("other") == 0
        assert (b.call("ask") if step == "call" else b.see(BOOK)) == 100


@pytest.mark.parametrize(
    ("arguments", "met"),
    [
        ({"days": 1, "note": "any"}, True),
        ({"days": True}, False),
        ({"days": "1"}, False),
        ({"days": 2}, False),
        ({}, False),
    ],
)
def test_a_call_is_compared_by_the_named_arguments_and_true_is_not_1(
    bench: BenchFactory, arguments: dict[str, Any], met: bool
) -> None:
    b = bench(expect_call("renew", arguments={"days": 1}))
    assert b.call("renew", arguments=arguments) == (100 if met else 0)


def test_a_refused_call_was_not_called(bench: BenchFactory) -> None:
    assert bench(expect_call("renew")).call("renew", executed=False) == 0


def test_never_takes_points_and_reads_as_a_prohibition(bench: BenchFactory) -> None:
    b = bench(expect_call("work"), forbid_call("drop", arguments={"hard": True}, points=5))
    assert b.call("drop", arguments={"hard": False}) == 0
    assert b.call("drop", arguments={"hard": True}) == -5
    spec = b.rubric.specs[1]
    assert (spec.kind, spec.layer, spec.text) == (
        "forbid",
        "params",
        "Called drop(hard=True), which is forbidden here.",
    )


def test_a_created_row_has_all_of_the_values(bench: BenchFactory) -> None:
    b = bench(expect_row(Book, {"title": "T", "copies": 1}))
    assert b.call(write=lambda s: s.insert(replace(BOOK, copies=2))) == 0
    assert b.call(write=lambda s: s.insert(replace(BOOK, id="BK-71"))) == 100
    assert b.call(write=lambda s: s.delete(s.get(Book, "BK-71"))) == -100


def test_a_row_that_was_there_before_was_not_created(bench: BenchFactory) -> None:
    b = bench(expect_row(Book, {"copies": 50}))
    assert b.call(write=lambda s: s.update(s.get(Book, "BK-1"), copies=50)) == 0


def test_a_frozenset_stands_for_any_of_its_members(bench: BenchFactory) -> None:
    b = bench(expect_row(Book, {"copies": frozenset({7, 8})}))
    assert b.call(write=lambda s: s.insert(replace(BOOK, copies=9))) == 0
    assert b.call(write=lambda s: s.insert(replace(BOOK, id="BK-71", copies=8))) == 100


def test_a_change_is_one_and_to_these_values(bench: BenchFactory) -> None:
    b = bench(expect_call("x"))
    row = b.state.get(Book, "BK-1")
    b = bench(expect_change(row, {"copies": 50}))
    assert b.call(write=lambda s: s.update(s.get(Book, "BK-1"), title="x")) == 0
    assert b.call(write=lambda s: s.update(s.get(Book, "BK-1"), copies=50)) == 100
    assert b.call(write=lambda s: s.delete(s.get(Book, "BK-1"))) == -100


@pytest.mark.parametrize(
    ("answer", "met"),
    [
        ({"n": 1, "s": "x"}, True),
        ({"n": True, "s": "x"}, False),
        ({"n": 1}, False),
        ({"n": 1, "s": "x", "more": 0}, False),
        ({"n": "1", "s": "x"}, False),
        ({}, False),
    ],
)
def test_an_answer_is_exactly_these_values(bench: BenchFactory, answer: dict[str, Any], met: bool) -> None:
    b = bench(expect_answer({"n": 1, "s": "x"}))
    assert b.finish(answer) == (100 if met else 0)
    assert met or b.checklist.score(None).verdicts["answer"].reason.startswith("wrong, missing or besides: ")


@pytest.mark.parametrize("end", [EndReason.GAVE_UP, EndReason.MAX_TURNS])
def test_only_who_finished_has_answered(bench: BenchFactory, end: EndReason) -> None:
    b = bench(expect_answer({"n": 1}))
    assert b.finish({"n": 1}, end) == 0
    assert b.checklist.score(end).verdicts["answer"].reason == "the agent did not finish"


def complaint_after(bench: BenchFactory, allowances: list[Allowance], *writes: Write) -> str | None:
    b = bench(expect_call("x"), *guards(allowances))
    for write in writes:
        b.call(write=write)
    verdict = b.checklist.score(None).verdicts["collateral"]
    return verdict.reason if verdict.met else None


def insert(state: Overlay) -> None:
    state.insert(BOOK)


def delete(state: Overlay) -> None:
    state.delete(state.get(Loan, "LN-1"))


def update(state: Overlay) -> None:
    state.update(state.get(Member, "MEM-1"), name="X", blocked=True)


def test_collateral_is_every_change_that_nobody_allowed(bench: BenchFactory) -> None:
    assert complaint_after(bench, []) is None
    assert complaint_after(bench, [], insert) == "created books BK-70"
    assert complaint_after(bench, [], delete) == "deleted loans LN-1"
    assert complaint_after(bench, [], update) == "changed blocked, name of members MEM-1"
    assert complaint_after(bench, [Allowance(table="books")], insert) is None
    assert complaint_after(bench, [Allowance(table="loans", key="LN-1", deletes=True)], delete) is None


def test_an_allowance_for_a_new_row_covers_one_unless_it_says_more(bench: BenchFactory) -> None:
    writes: list[Write] = [insert, lambda s: s.insert(replace(BOOK, id="BK-71"))]
    assert complaint_after(bench, [Allowance(table="books")], *writes) == "created books BK-71"
    assert complaint_after(bench, [Allowance(table="books", times=2)], *writes) is None


def test_harm_that_was_taken_back_takes_what_a_slip_takes(bench: BenchFactory) -> None:
    b = bench(expect_call("x"), *guards([]))
    assert b.call(write=insert) == -STANDING - SLIP == -HARM
    assert b.call(write=lambda s: s.delete(s.get(Book, BOOK.id))) == STANDING
    assert b.checklist.score(EndReason.FINISHED).points == -SLIP
    assert b.call(write=insert) == -STANDING, "a slip is taken once"
    assert b.call(write=lambda s: s.delete(s.get(Book, BOOK.id))) == 0, "and what is repeated counts as if it stood"


def test_harm_is_graded_by_where_it_stands(bench: BenchFactory) -> None:
    groups = {"money": frozenset({"loans"}), "case": frozenset({"members"})}
    grounds = {"members": frozenset({"name"})}

    def harm(*writes: Write) -> tuple[int, tuple[str, ...]]:
        b = bench(expect_call("x"), *guards([], groups, grounds=grounds))
        for write in writes:
            b.call(write=write)
        return -b.checklist.points, b.checklist.standing().violated

    name: Write = lambda s: s.update(s.get(Member, "MEM-1"), name="X")  # noqa: E731
    assert harm(delete) == (STANDING + SLIP, ("collateral-money", "slip"))
    assert harm(update) == (STANDING_CASE + SLIP, ("collateral-case", "slip"))
    assert harm(name) == (SLIP, ("slip",))
    assert harm(name, delete) == (STANDING + SLIP, ("collateral-money", "slip")), "the gravest alone"
    assert harm(name, update) == (STANDING_CASE + SLIP, ("collateral-case", "slip"))


def test_an_allowance_covers_its_row_values_and_columns() -> None:
    after = replace(BOOK, copies=2, title="U")
    change = RowChange(table="books", key=BOOK.id, before=BOOK, after=after)
    allow = Allowance(table="books", key=BOOK.id, values=(("copies", 2),), columns=frozenset({"title"}))
    assert allow.covers(change)
    for wrong in (
        replace(allow, table="loans"),
        replace(allow, key="BK-1"),
        replace(allow, values=(("copies", 3),)),
        replace(allow, columns=frozenset()),
        replace(allow, key=None),
    ):
        assert not wrong.covers(change)
    assert not allow.covers(replace(change, before=None))
    assert not allow.covers(replace(change, after=None))
    assert Allowance(table="books").covers(replace(change, before=None))


def test_a_row_that_came_or_went_changed_in_every_column() -> None:
    change = RowChange(table="books", key=BOOK.id, before=None, after=BOOK)
    assert changed_columns(change) == {"id", "title", "blurb", "tags", "copies"}
    assert changed_columns(replace(change, before=BOOK)) == set()


def grounded(bench: BenchFactory, *, named: tuple[str, ...], writes: bool = True, **kwargs: Any) -> int:
    b = bench(expect_call("x"), ungrounded_criterion(points=3), **kwargs)
    b.call(mentioned=frozenset({"seen"}))
    return b.call("write", write=insert if writes else lambda _: None, named=named)


def test_acting_on_ids_that_were_never_shown_is_forbidden(bench: BenchFactory) -> None:
    assert grounded(bench, named=("seen",)) == 0
    assert grounded(bench, named=("unseen",)) == -3
    assert grounded(bench, named=("unseen",), writes=False) == 0
    assert grounded(bench, named=("unseen", "seen"), given=frozenset({"unseen"})) == 0


def test_what_a_turn_shows_is_known_in_the_next_one_only(bench: BenchFactory) -> None:
    b = bench(expect_call("x"), ungrounded_criterion(points=3))
    b.call(mentioned=frozenset({"late"}))
    assert b.evidence.known_ids() == set()
    b.call()
    assert b.evidence.known_ids() == {"late"}
