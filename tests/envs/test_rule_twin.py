"""Rule twins: the same request and records under other rules, and handbooks that decide tasks."""

from dataclasses import replace

import pytest

from palaestra.envs import Instance, Task, call, family, instantiate
from palaestra.envs.rule_twin import (
    deciding_handbook,
    deciding_rules,
    does_decide,
    is_decided,
    is_same_case,
    relevant_handbooks,
    rule_twin,
    rules_asked_for,
    rules_that_may_decide,
    solves,
)
from palaestra.envs.world import ONE_RULE_FROM
from palaestra.records import ToolCall
from worlds.inn import WORLD, Booking, Case, Desk, Guest, Rules, cancel, settle
from worlds.library import LIBRARY, renew


@family("inn/call-off", level=1, traits=("write",), no_twin="it is a test's")
def call_off(desk: Desk) -> Task:
    """A booking is cancelled in time; under other rules the same booking may come too late."""

    def fits(booking: Booking) -> bool:
        in_time = (booking.arrival - desk.today).days >= desk.rules.cancel_days
        return booking.status == "confirmed" and in_time

    booking = desk.pick(Booking, fits, decides=True)
    guest = desk.state.get(Guest, booking.guest_id)
    other = desk.pick(Guest, lambda one: one.id != guest.id)
    note = desk.stream.between(1, 10**9)  # drawn after two picks, so that a twin has to draw alike

    def answer() -> list[ToolCall]:
        [case] = desk.state.find(Case, guest_id=guest.id, status="open")
        look = [call("get_case", case_id=case.id), call("get_guest", guest_id=guest.id)]
        look += [call("get_bookings", guest_id=guest.id), call("read_handbook", section_id="CNL-1")]
        if fits(booking):
            return [*look, call("cancel_booking", booking_id=booking.id), *desk.closing_calls(case, "It is cancelled.")]
        return [*look, *desk.decline_calls(case, "CNL-1", booking, "Too late.")]

    desk.answer = answer
    body = f"Please cancel {{}}. (Note {note} for {other.name}.)"
    return settle(desk, booking, body, "cancel_booking", "cancelled", "CNL-1")


@family("inn/greet", level=1, traits=("write",), no_twin="no rule is asked for")
def greet(desk: Desk) -> Task:
    """A request that no rule decides."""
    booking = desk.pick(Booking, lambda one: one.status == "confirmed")
    return settle(desk, booking, "Please cancel {}.", "cancel_booking", "cancelled", "CNL-1")


def one_rule(name: str, value: int) -> int:
    """The number of the handbook in which one rule has that value."""
    numbers = range(ONE_RULE_FROM, ONE_RULE_FROM + 20)
    return next(n for n in numbers if getattr(WORLD.rules(0, n), name) == value)


SHORTER, LONGER = one_rule("cancel_days", 2), one_rule("cancel_days", 7)


def made(number: int, index: int = 0) -> Instance:
    return instantiate(WORLD, call_off, index, handbook=number)


@pytest.mark.parametrize("index", range(6))
def test_a_rule_twin_has_the_request_and_the_records_and_other_rules(index: int) -> None:
    task = made(SHORTER, index)
    twin = rule_twin(task)
    assert twin is not None
    assert is_same_case(task, twin)
    assert (task.rules.cancel_days, twin.rules) == (2, Rules())
    assert task.messages == twin.messages
    assert [one.key for one in task.drawing.picks] == [one.key for one in twin.drawing.picks]
    assert solves(twin.oracle, twin)


def test_a_changed_rule_picks_rows_that_it_decides_where_there_are_any() -> None:
    decided = [task for task in (made(SHORTER, index) for index in range(8)) if is_decided(task, rule_twin(task))]
    assert decided
    for task in decided:
        twin = rule_twin(task)
        assert twin is not None
        assert not solves(twin.oracle, task)
        assert not solves(task.oracle, twin)
        assert {one.tool for one in twin.oracle} & {"decline_request", "cancel_booking"} == {"decline_request"}
        assert deciding_rules(task) == ("cancel_days",)


def test_where_both_rules_ask_for_the_same_no_rule_decides() -> None:
    for index in range(4):
        task = made(LONGER, index)  # who is in time by the stricter rule is so by the other one
        assert not is_decided(task, rule_twin(task))
        assert deciding_rules(task) == ()


def test_the_own_rules_decide_nothing() -> None:
    task = made(0)
    twin = rule_twin(task)
    assert twin is not None
    assert twin.fingerprint() != ""
    assert not is_decided(task, twin)


def test_a_family_that_plants_by_the_rules_it_decides_by_has_no_rule_twin() -> None:
    tasks = [instantiate(WORLD, cancel.twins(), index, handbook=LONGER) for index in range(3)]
    assert [rule_twin(task) for task in tasks] == [None] * 3
    assert not is_decided(tasks[0], None)


def test_handbooks_are_searched_that_change_what_a_family_asks_for() -> None:
    assert rules_asked_for(WORLD, call_off, 0) == {"cancel_days"}
    assert rules_asked_for(WORLD, greet, 0) == set()
    numbers = list(relevant_handbooks(WORLD, call_off, 0, ONE_RULE_FROM))
    assert [WORLD.rules(0, n).cancel_days for n in numbers] == [2, 5, 7]
    assert list(relevant_handbooks(WORLD, greet, 0, 1)) == []


def test_the_first_handbook_that_decides_a_task_is_taken_and_the_number_itself_where_none_does() -> None:
    decided = next(i for i in range(8) if is_decided(made(SHORTER, i), rule_twin(made(SHORTER, i))))
    assert deciding_handbook(WORLD, call_off, decided, LONGER) == SHORTER
    assert deciding_handbook(WORLD, call_off, decided, SHORTER) == SHORTER
    assert deciding_handbook(WORLD, greet, 0, LONGER) == LONGER


def test_a_rule_is_said_to_decide_where_some_twin_of_its_values_has_another_right_answer() -> None:
    tasks = [instantiate(WORLD, kind, index) for kind in (call_off, greet, cancel.twins()) for index in range(4)]
    decided = [
        any(is_decided(task, rule_twin(task, replace(Rules(), cancel_days=days))) for days in (2, 5, 7))
        for task in tasks
    ]
    assert [does_decide(task, "cancel_days") for task in tasks] == decided
    assert {True, False} == set(decided)
    for task, does in zip(tasks, decided, strict=True):
        assert "cancel_days" in rules_that_may_decide(task) or not does
    assert rules_that_may_decide(tasks[4]) == set()
    assert rules_that_may_decide(instantiate(LIBRARY, renew, 0)) == set()


def test_a_world_without_handbooks_has_no_rule_twins() -> None:
    task = instantiate(LIBRARY, renew, 0)
    assert rule_twin(task) is None
    assert rules_asked_for(LIBRARY, renew, 0) == frozenset()
    assert deciding_rules(task) == ()
    assert deciding_handbook(LIBRARY, renew, 0, 5) == 5
