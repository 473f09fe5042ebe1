"""Attacks: each does what it says, knows what it may know, and is told apart from right work."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import gymnasium as gym
import pytest

from palaestra.envs import ToolEnv
from palaestra.proof.attacks import (
    ATTACKS,
    MAX_CALLS,
    Attack,
    AttackContext,
    PrivilegedAttackContext,
    blind_attack,
    privileged_attack,
    run_attack,
)
from palaestra.proof.attacks.attack import BLIND
from palaestra.proof.equivalence import right_after_all
from palaestra.proof.trial import AttackScript, Trial, TrialOutcome

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


def outcomes(name: str, surface: str | None = None) -> Iterator[tuple[Trial, TrialOutcome]]:
    """What an attack comes to where it has something to try."""
    for task in TASKS:
        of = trial(task, surface)
        outcome = run_attack(of, ATTACKS[name])
        if outcome is not None:
            yield of, outcome


def test_there_are_more_than_thirty_and_most_of_them_are_blind() -> None:
    assert len(ATTACKS) >= 32
    assert sum(not attack.privileged for attack in ATTACKS.values()) >= 24


def test_each_says_what_it_tries_in_words_of_its_own() -> None:
    said = Counter(attack.tries for attack in ATTACKS.values())
    assert max(said.values()) == 1
    for name, attack in ATTACKS.items():
        assert name == attack.name
        assert attack.tries == attack.tries.strip().rstrip(".")
        assert " " not in name


def test_every_blind_hack_is_held_to_what_lookups_are_worth() -> None:
    assert {attack.ceiling for attack in ATTACKS.values() if not attack.privileged} == {BLIND} == {20}
    assert all(0 <= attack.ceiling < 100 for attack in ATTACKS.values())


@pytest.mark.parametrize("name", ATTACKS)
def test_it_passes_nothing_but_by_right_work(name: str) -> None:
    for of, outcome in outcomes(name):
        assert not outcome.passed or right_after_all(of, outcome), of.instance.spec.id


@pytest.mark.parametrize("name", ATTACKS)
def test_it_makes_calls_within_its_means_and_the_same_ones_each_time(name: str) -> None:
    for of, outcome in outcomes(name):
        assert 0 < len(outcome.events) <= 2 * MAX_CALLS
        assert run_attack(of, ATTACKS[name]) == outcome


def test_each_finds_something_to_try_on_some_task() -> None:
    idle = [name for name in ATTACKS if not list(outcomes(name))]
    # None of these tasks asks for an answer, and workflows are the generic surface's.
    assert set(idle) <= {"answers-in-prose", "hides-the-answer", "dry-runs-everything"}


def test_on_another_surface_they_do_harm_too() -> None:
    for name in ("gambles", "writes-to-all-met", "adds-a-favour", "serves-the-neighbours"):
        assert any(outcome.changes for _, outcome in outcomes(name, "generic")), name


def test_a_blind_attack_meets_only_what_it_was_told() -> None:
    of = trial(TASKS[0])
    context = AttackContext(of, "x")
    named = {key for keys in context.met.values() for key in keys}
    assert named
    assert all(key in context.request for key in named)
    context.hear([{"role": "tool", "content": '{"id":"ORD-1001","cents":1234}'}])
    assert "ORD-1001" in context.ids("orders")
    assert "ORD-1001" in context.ids("*")
    assert 1234 in context.numbers


def test_what_it_fills_in_fits_and_names_what_it_met() -> None:
    of = trial(TASKS[0])
    context = AttackContext(of, "x")
    for call in [*context.lookups(), *context.aim_calls(context.writes)]:
        tool = of.own[call.tool]
        assert tool.fits(call.arguments), call
        first = next(iter(tool.references))
        met = context.ids(tool.references[first])
        assert call.arguments[first] in met or call.arguments[first] in [[key] for key in met]


def test_the_solution_done_in_full_is_recognised_as_right_work() -> None:
    @privileged_attack("skip", "does it right", needs="call", ceiling=0, worth="nothing")
    def does_it_right(context: PrivilegedAttackContext) -> AttackScript:
        yield from ([step.call] for step in context.steps)
        yield [context.end]

    for task in TASKS:
        outcome = run_attack(trial(task), does_it_right)
        assert outcome is not None
        assert outcome.passed
        assert right_after_all(trial(task), outcome) == "same work"


def test_what_does_not_finish_is_finished() -> None:
    @blind_attack("talk", "says hello")
    def says_hello(context: AttackContext) -> AttackScript:
        yield [context.say("Hello")]

    outcome = run_attack(trial(TASKS[0]), says_hello)
    assert outcome is not None
    assert [event.tool for event in outcome.events] == ["reply", "finish"]


def test_a_hack_that_makes_no_turn_has_nothing_to_try() -> None:
    @blind_attack("talk", "stays silent")
    def stays_silent(context: AttackContext) -> AttackScript:
        del context
        yield from ()

    assert run_attack(trial(TASKS[0]), stays_silent) is None


def test_no_more_calls_are_made_than_a_hack_may_make() -> None:
    @blind_attack("flood", "talks without end")
    def talks_without_end(context: AttackContext) -> AttackScript:
        while True:
            yield [context.say("again")] * 50

    of = trial(TASKS[0])
    outcome = run_attack(of, talks_without_end)
    assert outcome is not None
    assert Counter(event.tool for event in outcome.events) == {"reply": MAX_CALLS, "finish": 1}


def test_a_name_is_the_functions() -> None:
    @blind_attack("talk", "names itself")
    def names_itself(context: AttackContext) -> AttackScript:
        yield [context.finish()]

    assert isinstance(names_itself, Attack)
    assert names_itself.name == "names-itself"
