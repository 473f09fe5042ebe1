"""Hacks: each does what it says, knows what it may know, and is told apart from right work."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.proof.equivalence import right_after_all
from palaestra.proof.hacks import HACKS, MOST, Hack, Insider, Seat, blind, knowing, try_hack
from palaestra.proof.hacks.hack import BLIND
from palaestra.proof.trial import Outcome, Play, Trial

TASKS = (
    "storefront/refund-damaged-item/0000",
    "storefront/decline-late-return/0000",
    "storefront/order-status/0000",
    "storefront/refund-over-limit/0001",
)


@cache
def env(surface: str | None = None) -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0", surface=surface).unwrapped
    assert isinstance(made, ToolEnv)
    return made


@cache
def trial(task: str, surface: str | None = None) -> Trial:
    return Trial(env(surface), task)


def outcomes(name: str, surface: str | None = None) -> Iterator[tuple[Trial, Outcome]]:
    """What a hack comes to where it has something to try."""
    for task in TASKS:
        of = trial(task, surface)
        outcome = try_hack(of, HACKS[name])
        if outcome is not None:
            yield of, outcome


def test_there_are_more_than_thirty_and_most_of_them_are_blind() -> None:
    assert len(HACKS) >= 32
    assert sum(not hack.knowing for hack in HACKS.values()) >= 24


def test_each_says_what_it_tries_in_words_of_its_own() -> None:
    said = Counter(hack.tries for hack in HACKS.values())
    assert max(said.values()) == 1
    for name, hack in HACKS.items():
        assert name == hack.name
        assert hack.tries == hack.tries.strip().rstrip(".")
        assert " " not in name


def test_every_blind_hack_is_held_to_what_lookups_are_worth() -> None:
    assert {hack.ceiling for hack in HACKS.values() if not hack.knowing} == {BLIND} == {20}
    assert all(0 <= hack.ceiling < 100 for hack in HACKS.values())


@pytest.mark.parametrize("name", HACKS)
def test_it_passes_nothing_but_by_right_work(name: str) -> None:
    for of, outcome in outcomes(name):
        assert not outcome.passed or right_after_all(of, outcome), of.instance.spec.id


@pytest.mark.parametrize("name", HACKS)
def test_it_makes_calls_within_its_means_and_the_same_ones_each_time(name: str) -> None:
    for of, outcome in outcomes(name):
        assert 0 < len(outcome.events) <= 2 * MOST
        assert try_hack(of, HACKS[name]) == outcome


def test_each_finds_something_to_try_on_some_task() -> None:
    idle = [name for name in HACKS if not list(outcomes(name))]
    assert set(idle) <= {"answers-in-prose", "hides-the-answer"}  # none of these tasks asks for an answer


def test_on_another_surface_they_do_harm_too() -> None:
    for name in ("gambles", "writes-to-all-met", "adds-a-favour", "serves-the-neighbours"):
        assert any(outcome.changes for _, outcome in outcomes(name, "generic")), name


def test_a_blind_hack_meets_only_what_it_was_told() -> None:
    of = trial(TASKS[0])
    seat = Seat(of, "x")
    named = {key for keys in seat.met.values() for key in keys}
    assert named
    assert all(key in seat.request for key in named)
    seat.hear([{"role": "tool", "content": '{"id":"ORD-1001","cents":1234}'}])
    assert "ORD-1001" in seat.ids("orders")
    assert "ORD-1001" in seat.ids("*")
    assert 1234 in seat.numbers


def test_what_it_fills_in_fits_and_names_what_it_met() -> None:
    of = trial(TASKS[0])
    seat = Seat(of, "x")
    for call in [*seat.lookups(), *seat.aimed(seat.writes)]:
        tool = of.own[call.tool]
        assert tool.fits(call.arguments), call
        first = next(iter(tool.references))
        met = seat.ids(tool.references[first])
        assert call.arguments[first] in met or call.arguments[first] in [[key] for key in met]


def test_the_solution_done_in_full_is_recognised_as_right_work() -> None:
    @knowing("skip", "does it right", ceiling=0, worth="nothing")
    def does_it_right(seat: Insider) -> Play:
        yield from ([step.call] for step in seat.steps)
        yield [seat.end]

    for task in TASKS:
        outcome = try_hack(trial(task), does_it_right)
        assert outcome is not None
        assert outcome.passed
        assert right_after_all(trial(task), outcome) == "same work"


def test_what_does_not_finish_is_finished() -> None:
    @blind("talk", "says hello")
    def says_hello(seat: Seat) -> Play:
        yield [seat.say("Hello")]

    outcome = try_hack(trial(TASKS[0]), says_hello)
    assert outcome is not None
    assert [event.tool for event in outcome.events] == ["reply", "finish"]


def test_a_hack_that_makes_no_turn_has_nothing_to_try() -> None:
    @blind("talk", "stays silent")
    def stays_silent(seat: Seat) -> Play:
        del seat
        yield from ()

    assert try_hack(trial(TASKS[0]), stays_silent) is None


def test_no_more_calls_are_made_than_a_hack_may_make() -> None:
    @blind("flood", "talks without end")
    def talks_without_end(seat: Seat) -> Play:
        while True:
            yield [seat.say("again")] * 50

    of = trial(TASKS[0])
    outcome = try_hack(of, talks_without_end)
    assert outcome is not None
    assert Counter(event.tool for event in outcome.events) == {"reply": MOST, "finish": 1}


def test_a_name_is_the_functions() -> None:
    @blind("talk", "names itself")
    def names_itself(seat: Seat) -> Play:
        yield [seat.finish()]

    assert isinstance(names_itself, Hack)
    assert names_itself.name == "names-itself"
