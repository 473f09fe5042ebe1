"""Rubrics derived from runs: what they ask for, what they permit, and what they forbid."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.envs import Draft, Instance, LiveEpisode, Task, bundled_tasks, call, family, instantiate
from palaestra.envs.later import LaterEvent
from palaestra.envs.state import Overlay
from palaestra.errors import TaskError
from palaestra.records import CriterionSpec, Json, RowChange, Score, ToolCall
from palaestra.rubrics import TOTAL, Allowance
from palaestra.rubrics.rubric import LOOKUPS
from palaestra.tools import Toolbox, ToolContext, tool
from worlds.library import LIBRARY, Book, Loan, Member

Turn: TypeAlias = ToolCall | Sequence[ToolCall]
Calls: TypeAlias = Sequence[ToolCall]

FINISH = call("finish")
REPLY = call("reply", message="It is done.")


def made(
    oracle: Callable[[Draft], Calls],
    *others: Callable[[Draft], Calls],
    prompt: str = "Please.",
    allow: Sequence[Allowance] = (),
) -> Instance:
    """A task of the library without a rubric, whose author gives these calls."""

    @family("library/derived", level=1)
    def derived(draft: Draft) -> Task:
        return Task(prompt=prompt, oracle=oracle(draft), alternatives=[other(draft) for other in others], allow=allow)

    return instantiate(LIBRARY, derived, 0)


def fixed(*calls: ToolCall) -> Callable[[Draft], Calls]:
    """The same calls whatever the draft."""
    return lambda _: calls


def score(instance: Instance, *turns: Turn) -> Score:
    """What the derived rubric says of these turns."""
    episode = LiveEpisode(instance, seed=0, max_turns=50, toolbox=instance.world.toolbox)
    for turn in turns:
        episode.begin_turn()
        messages = episode.run((turn,) if isinstance(turn, ToolCall) else tuple(turn))
        episode.close_turn(tuple(messages), readable=True)
    return episode.checklist.score(episode.evidence.end)


def specs(instance: Instance) -> dict[str, CriterionSpec]:
    return {spec.id: spec for spec in instance.rubric.specs}


STATE = Overlay(LIBRARY.base(1, 0))
"""The world that task 0000 is set in."""


def rows() -> tuple[Loan, Loan, Member, Book]:
    """An open loan of a member who is not blocked, such a loan of another member, the first member and the book."""
    state = STATE
    free = [x for x in state.find(Loan, returned=False) if not state.get(Member, x.member_id).blocked]
    first, second = free[0], next(x for x in free[1:] if x.member_id != free[0].member_id)
    return first, second, state.get(Member, first.member_id), state.get(Book, first.book_id)


LOAN, OTHER, MEMBER, BOOK = rows()
READ, CARD = call("get_loan", loan_id=LOAN.id), call("get_member", member_id=MEMBER.id)
RENEW = call("renew_loan", loan_id=LOAN.id)
NAMED = f"Renew {LOAN.id}."


# What every derived rubric holds to


@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize("name", ["renew-loan", "lend-book"])
def test_every_run_that_a_rubric_is_derived_from_gets_every_point(name: str, index: int) -> None:
    instance = bundled_tasks(LIBRARY).instance(f"library/{name}/{index:04d}")
    instance = replace(instance, rubric=instance.derived_rubric())
    for calls in (instance.oracle, *instance.alternatives):
        found = score(instance, *calls)
        assert (found.points, found.passed) == (TOTAL, True)


@given(order=st.permutations(range(4)), words=st.text("abcdeg ,.", max_size=20).map("Well, {}".format))
def test_the_oracles_work_counts_in_any_order_of_its_look_ups_and_in_any_words(order: list[int], words: str) -> None:
    reads = [READ, CARD, call("search_books", text="river"), call("list_loans", member_id=OTHER.member_id)]
    prompt = f"Renew {LOAN.id} of {MEMBER.id}, as {OTHER.member_id} had it."
    instance = made(fixed(*reads, RENEW, REPLY, FINISH), prompt=prompt)
    again = [*(reads[n] for n in order), RENEW, call("reply", message=words), FINISH]
    assert score(instance, *again).points == TOTAL


def test_reading_everything_and_doing_nothing_wins_what_look_ups_win_and_no_more() -> None:
    instance = made(fixed(READ, CARD, RENEW, REPLY, FINISH), prompt=NAMED)
    assert score(instance, READ, CARD, FINISH).points == LOOKUPS
    assert not score(instance, READ, CARD, FINISH).passed


def test_more_look_ups_than_points_for_them_win_no_more_together() -> None:
    reads = [call("get_member", member_id=f"MEM-{n}") for n in range(1, 11)]
    reads += [call("get_loan", loan_id=f"LN-{n}") for n in range(1, 15)]
    prompt = " ".join(str(i) for c in reads for i in c.arguments.values())
    instance = made(fixed(*reads, RENEW, FINISH), prompt=prompt)
    lookups = [spec.points for spec in specs(instance).values() if spec.layer == "selection"]
    assert len(lookups) == 24
    assert sum(lookups) == LOOKUPS
    assert sum(s.points for s in specs(instance).values() if s.kind == "expect") == TOTAL


# What had to be read


def test_work_waits_for_what_was_read_before_it() -> None:
    instance = made(fixed(READ, CARD, RENEW, FINISH), prompt=NAMED)
    assert specs(instance)["changed-loans"].after == ("saw-loans", "saw-members")
    assert not score(instance, RENEW, READ, CARD, FINISH).passed
    assert not score(instance, READ, (CARD, RENEW), FINISH).passed, "an answer of the same turn was not read"


def test_look_ups_of_one_turn_count_where_both_ids_were_known() -> None:
    instance = made(fixed(READ, CARD, RENEW, FINISH), prompt=f"Renew {LOAN.id} of {MEMBER.id}.")
    assert score(instance, (READ, CARD), RENEW, FINISH).passed


def test_a_look_up_that_is_left_out_is_missed() -> None:
    instance = made(fixed(READ, CARD, RENEW, FINISH), prompt=f"Renew {LOAN.id} of {MEMBER.id}.")
    found = score(instance, READ, RENEW, FINISH)
    assert not found.passed
    assert not found.verdicts["saw-members"].met


def test_any_call_that_shows_the_row_is_a_look_at_it() -> None:
    instance = made(fixed(READ, RENEW, FINISH), prompt=f"Renew {LOAN.id} of {MEMBER.id}.")
    assert score(instance, call("list_loans", member_id=MEMBER.id), RENEW, FINISH).passed


def test_a_row_is_not_seen_by_a_guess() -> None:
    instance = made(fixed(READ, CARD, RENEW, FINISH), prompt=NAMED)
    assert not score(instance, CARD, READ, RENEW, FINISH).passed
    assert "could not know" in score(instance, CARD).verdicts["saw-members"].reason


def test_a_second_look_at_the_same_row_is_not_asked_for() -> None:
    instance = made(fixed(READ, READ, CARD, RENEW, READ, FINISH), prompt=NAMED)
    assert [i for i in specs(instance) if i.startswith("saw")] == ["saw-loans", "saw-members"]


@tool(writes=True)
def wait_days(context: ToolContext, days: int) -> object:
    """Wait.

    Args:
        days: How many days.
    """
    context.clock.wait(days)
    return {"now": context.clock.now}


WAITING = replace(LIBRARY, toolbox=Toolbox([*LIBRARY.toolbox, wait_days]))
WAIT = call("wait_days", days=2)


def renamed(*oracle: ToolCall) -> Instance:
    """A task in which the member has another name from the second day on."""
    change = RowChange(table="members", key=MEMBER.id, before=MEMBER, after=replace(MEMBER, name="Ada Later"))
    day = LIBRARY.start(1).date() + timedelta(days=2)
    event = LaterEvent(name="a member has another name", day=day, changes=(change,))

    @family("library/derived", level=1)
    def derived(draft: Draft) -> Task:
        del draft
        return Task(prompt=NAMED, oracle=oracle, later=[event])

    return instantiate(WAITING, derived, 0)


def test_a_row_that_the_world_has_changed_is_looked_at_again() -> None:
    instance = renamed(READ, CARD, WAIT, READ, CARD, RENEW, FINISH)
    looks = {id: spec.text for id, spec in specs(instance).items() if id.startswith("saw")}
    assert list(looks) == ["saw-loans", "saw-members", "saw-members-2"], "the loan is as it was"
    assert f"Looked at {MEMBER.id} once {MEMBER.id} had name = Ada Later." in looks["saw-members-2"]
    assert "saw-members-2" in specs(instance)["changed-loans"].after
    assert score(instance, *instance.oracle).points == TOTAL
    early = score(instance, READ, CARD, CARD, WAIT, RENEW, FINISH)
    assert [id for id in looks if not early.verdicts[id].met] == ["saw-members-2"]
    assert not early.passed
    assert not score(instance, READ, CARD, WAIT, RENEW, CARD, FINISH).passed, "the work waits for it"


def test_one_look_at_a_row_that_the_world_has_changed_is_enough() -> None:
    instance = renamed(READ, CARD, WAIT, CARD, RENEW, FINISH)
    assert score(instance, READ, WAIT, CARD, RENEW, FINISH).points == TOTAL


def test_a_row_that_the_oracle_did_not_look_at_again_is_not_asked_for_again() -> None:
    instance = renamed(READ, CARD, WAIT, RENEW, FINISH)
    assert [id for id in specs(instance) if id.startswith("saw")] == ["saw-loans", "saw-members"]


def test_what_only_the_oracle_read_is_not_asked_for() -> None:
    without = [RENEW, FINISH]
    instance = made(fixed(READ, CARD, RENEW, FINISH), fixed(READ, *without), prompt=NAMED)
    assert "saw-members" not in specs(instance)
    assert score(instance, READ, *without).points == TOTAL


def test_another_row_of_the_kind_that_an_alternative_read_in_its_place_does_as_well() -> None:
    books = [call("search_books", text=text) for text in ("river", "winter")]
    instance = made(fixed(READ, books[0], RENEW, FINISH), fixed(READ, books[1], RENEW, FINISH), prompt=NAMED)
    assert all(score(instance, READ, book, RENEW, FINISH).passed for book in books)
    assert not score(instance, READ, RENEW, FINISH).passed


def test_an_id_that_only_a_search_told_is_left_to_grounding() -> None:
    search = call("search_members", text=MEMBER.name)
    instance = made(fixed(search, CARD, RENEW, FINISH), prompt=f"Renew {LOAN.id} of {MEMBER.name}.")
    assert [i for i, s in specs(instance).items() if s.layer == "selection"] == ["saw-members"]
    assert not score(instance, CARD, RENEW, FINISH).passed
    assert score(instance, search, CARD, RENEW, FINISH).passed


def test_that_there_is_nothing_has_to_be_looked_up_with_the_same_question() -> None:
    idle = next(m for m in STATE.find(Member) if not _open(m))
    absence = call("list_loans", member_id=idle.id)
    instance = made(fixed(absence, READ, RENEW, FINISH), prompt=f"Renew {LOAN.id} if {idle.id} has nothing.")
    assert specs(instance)["changed-loans"].after == ("asked-list_loans", "saw-loans")
    assert not score(instance, READ, RENEW, FINISH).passed
    other = call("list_loans", member_id=idle.id, only_open=False)
    assert not score(instance, other, READ, RENEW, FINISH).verdicts["asked-list_loans"].met


def _open(member: Member) -> list[Loan]:
    return [x for x in STATE.find(Loan, member_id=member.id) if not x.returned]


# What had to be done


def test_a_change_is_asked_for_as_it_ended() -> None:
    twice = call("renew_loan", loan_id=LOAN.id, times=2)
    instance = made(fixed(READ, RENEW, RENEW, FINISH), prompt=NAMED)
    assert score(instance, READ, twice, FINISH).points == TOTAL
    assert not score(instance, READ, RENEW, FINISH).passed
    assert not score(instance, READ, twice, RENEW, FINISH).passed


def test_what_a_tool_changes_besides_is_permitted_exactly() -> None:
    lend = call("lend_book", book_id=BOOK.id, member_id=MEMBER.id)
    stock = STATE.get(Book, BOOK.id).copies
    assert stock, "a book with a copy left to lend"
    instance = made(fixed(CARD, lend, FINISH), prompt=f"Lend {BOOK.id} to {MEMBER.id}.")
    assert "created-loans" in specs(instance)
    assert instance.permitted == (Allowance(table="books", key=BOOK.id, values=(("copies", stock - 1),)),)
    assert score(instance, CARD, lend, FINISH).points == TOTAL
    assert score(instance, CARD, lend, lend, FINISH).points <= 0


def test_a_row_that_is_gone_is_asked_for() -> None:
    strike = call("cancel_loan", loan_id=LOAN.id)
    instance = made(fixed(READ, strike, FINISH), prompt=f"Strike {LOAN.id} and not {OTHER.id}.")
    assert score(instance, READ, strike, FINISH).points == TOTAL
    assert not score(instance, READ, FINISH).passed
    assert score(instance, READ, strike, call("cancel_loan", loan_id=OTHER.id), FINISH).points <= 0


def test_values_in_which_right_runs_differ_are_equally_right() -> None:
    more = call("renew_loan", loan_id=LOAN.id, times=3)
    instance = made(fixed(READ, RENEW, FINISH), fixed(READ, more, FINISH), prompt=NAMED)
    assert score(instance, READ, RENEW, FINISH).passed
    assert score(instance, READ, more, FINISH).passed
    assert not score(instance, READ, call("renew_loan", loan_id=LOAN.id, times=2), FINISH).passed


def test_work_that_only_some_right_runs_do_is_permitted_and_not_asked_for() -> None:
    extra = call("renew_loan", loan_id=OTHER.id)
    prompt = f"Renew {LOAN.id}, and {OTHER.id} if you like."
    instance = made(fixed(READ, RENEW, FINISH), fixed(READ, RENEW, extra, FINISH), prompt=prompt)
    assert score(instance, READ, RENEW, FINISH).points == TOTAL
    assert score(instance, READ, RENEW, extra, FINISH).points == TOTAL
    assert score(instance, READ, RENEW, extra, extra, FINISH).points <= 0


def test_the_answer_is_one_of_those_that_right_runs_gave() -> None:
    answers: list[dict[str, Json]] = [{"due": "soon"}, {"due": "later"}]
    instance = made(*(fixed(READ, call("finish", answer=answer)) for answer in answers), prompt=NAMED)
    assert all(score(instance, READ, call("finish", answer=answer)).passed for answer in answers)
    assert not score(instance, READ, call("finish", answer={"due": "never"})).passed
    assert not score(instance, READ, FINISH).passed


def test_a_person_is_told_after_the_work() -> None:
    instance = made(fixed(READ, RENEW, REPLY, FINISH), prompt=NAMED)
    assert not score(instance, READ, REPLY, RENEW, FINISH).passed
    assert score(instance, READ, RENEW, REPLY, FINISH).passed


def test_the_record_of_the_request_is_closed_after_the_work_and_before_or_after_telling() -> None:
    case = replace(LOAN, id="LN-900")
    close = call("renew_loan", loan_id=case.id)

    def oracle(draft: Draft) -> Calls:
        draft.state.insert(case)
        return [call("get_loan", loan_id=case.id), READ, RENEW, REPLY, close, FINISH]

    instance = made(oracle, prompt=f"{LOAN.id}, about which there is {case.id}.")
    assert score(instance, READ, RENEW, close, REPLY, FINISH).points == TOTAL, "its own row need not be read"
    assert score(instance, READ, RENEW, REPLY, close, FINISH).points == TOTAL
    assert not score(instance, READ, close, RENEW, REPLY, FINISH).passed
    assert not score(instance, READ, REPLY, RENEW, close, FINISH).passed


def test_new_rows_of_two_runs_are_paired_by_what_they_say() -> None:
    lend = [call("lend_book", book_id=book.id, member_id=MEMBER.id) for book in STATE.find(Book) if book.copies][:2]
    prompt = " ".join(str(value) for c in lend for value in c.arguments.values())
    instance = made(fixed(CARD, *lend, FINISH), fixed(CARD, *reversed(lend), FINISH), prompt=prompt)
    assert "created-loans-2" in specs(instance)
    for calls in (lend, lend[::-1]):
        assert score(instance, CARD, *calls, FINISH).points == TOTAL
    assert not score(instance, CARD, lend[0], FINISH).passed
    assert not score(instance, CARD, lend[0], lend[0], FINISH).passed


# What lies beside


def test_the_row_beside_is_spared_by_name() -> None:
    mine = STATE.find(Loan, book_id=LOAN.book_id)
    everything = call("list_loans", member_id=MEMBER.id, only_open=False)
    instance = made(fixed(everything, RENEW, FINISH), prompt=f"{MEMBER.id} wants {LOAN.id} renewed.")
    beside = {x.id for x in [*mine, *STATE.find(Loan, member_id=MEMBER.id)]} - {LOAN.id}
    if not beside:
        assert "spared-loans" not in specs(instance)
        return
    spared = specs(instance)["spared-loans"]
    assert spared.kind == "forbid"
    assert all(name in spared.text for name in beside)
    for name in sorted(beside):
        found = score(instance, everything, call("cancel_loan", loan_id=name), RENEW, FINISH)
        assert found.verdicts["spared-loans"].met


# What an author is told


def test_calls_that_do_nothing_at_all_are_told_so() -> None:
    with pytest.raises(TaskError, match="the oracle does nothing that a rubric could ask for; look something up"):
        made(fixed(FINISH))


def test_an_oracle_without_an_end_is_named() -> None:
    with pytest.raises(TaskError, match=r"library/derived/0000: oracle: does not finish; end it with call\('finish'\)"):
        made(fixed(READ, RENEW))


def test_an_alternative_that_gives_up_is_named_by_number() -> None:
    with pytest.raises(TaskError, match="alternative 1: does not finish"):
        made(fixed(READ, FINISH), fixed(READ, call("give_up", reason="no")))


def test_ids_of_criteria_are_those_of_every_task_of_a_family() -> None:
    tasks = [bundled_tasks(LIBRARY).instance(f"library/renew-loan/{n:04d}") for n in range(4)]
    expected = [[s.id for s in t.derived_rubric().specs if s.kind == "expect"] for t in tasks]
    assert expected == [["saw-loans", "changed-loans", "answer"]] * 4
