"""What happens on later days: when, to which rows, whose change it is, and how snapshots and forks keep it."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import gymnasium as gym
import pytest

from palaestra.agents import as_action
from palaestra.envs import Draft, ToolEnv, instantiate
from palaestra.envs.later import LaterEvent, due, happen, happen_by
from palaestra.envs.task import Family, Task
from palaestra.envs.worlds.storefront.schema import Refund, Return
from palaestra.envs.worlds.storefront.world import STOREFRONT
from palaestra.errors import TaskError
from palaestra.records import ToolCall
from palaestra.rubrics import WORLD

TASK = "storefront/await-returns-twin/0000"
"""A task in which rows are changed and come new while the case waits."""


def make(**options: Any) -> ToolEnv:
    made = gym.make("palaestra/Storefront-v0", **options).unwrapped
    assert isinstance(made, ToolEnv)
    made.reset(seed=0, options={"task": TASK})
    return made


@pytest.fixture
def env() -> ToolEnv:
    return make()


def parts(env: ToolEnv) -> tuple[list[ToolCall], list[ToolCall]]:
    """The solution up to its wait, which is its last part, and from there on."""
    calls = list(env.oracle())
    place = next(place for place, made in enumerate(calls) if made.tool == "wait_days")
    return calls[: place + 1], calls[place + 1 :]


def play(env: ToolEnv, calls: Iterable[ToolCall]) -> None:
    for made in calls:
        env.step(as_action(made))


def later_of(env: ToolEnv) -> LaterEvent:
    [event] = env.instance.later
    return event


@pytest.mark.parametrize("shift", [0, -1, -400])
def test_an_event_of_a_day_that_is_not_to_come_is_refused(env: ToolEnv, shift: int) -> None:
    family: Family[Draft] = env.task_set.families["storefront/await-returns-twin"]
    start = env.instance.start.date()

    def with_day(draft: Draft) -> Task:
        made = family.make(draft)
        return replace(made, later=[replace(made.later[0], day=start + timedelta(days=shift))])

    with pytest.raises(TaskError, match=f"happens on .*; list later events by day, all after {start}"):
        instantiate(STOREFRONT, replace(family, make=with_day), 0)


def test_events_out_of_order_are_refused(env: ToolEnv) -> None:
    family: Family[Draft] = env.task_set.families["storefront/await-returns-twin"]

    def twice(draft: Draft) -> Task:
        made = family.make(draft)
        [event] = made.later
        return replace(made, later=[event, replace(event, day=event.day - timedelta(days=1))])

    with pytest.raises(TaskError, match="list later events by day"):
        instantiate(STOREFRONT, replace(family, make=twice), 0)


def test_nothing_happens_before_its_day(env: ToolEnv) -> None:
    before, _ = parts(env)
    play(env, before[:-1])
    env.step({"tool": "wait_days", "arguments": {"days": (later_of(env).day - env.instance.start.date()).days - 1}})
    assert env.journal == ()
    assert WORLD not in {event.tool for event in env.events}
    env.step({"tool": "wait_days", "arguments": {"days": 1}})
    assert len(env.journal) == len(later_of(env).changes)


def test_it_happens_once(env: ToolEnv) -> None:
    before, _ = parts(env)
    play(env, [*before, before[-1], before[-1]])
    assert [event.arguments for event in env.events if event.tool == WORLD] == [{"what": "goods come back"}]


def test_what_happens_is_no_change_of_the_agents(env: ToolEnv) -> None:
    before, _ = parts(env)
    play(env, before)
    assert env.changes == ()
    assert env.score().points >= 0
    assert env.state_hash() != env.instance.initial_state.state_hash()


def test_a_snapshot_keeps_what_has_happened_and_what_has_not(env: ToolEnv) -> None:
    before, after = parts(env)
    play(env, before[:-1])
    early = env.snapshot()
    play(env, before[-1:])
    late, digest = env.snapshot(), env.digest()
    other = make()
    other.restore(late)
    assert other.digest() == digest
    play(other, after)
    assert (other.score().passed, other.score().points) == (True, 100)
    other.restore(early)
    assert other.journal == ()
    play(other, before[-1:])
    assert other.digest() == digest


def test_a_fork_goes_on_by_itself(env: ToolEnv) -> None:
    before, after = parts(env)
    play(env, before[:-1])
    fork = env.fork()
    play(fork, [before[-1], *after])
    assert fork.score().passed
    assert env.journal == ()
    play(env, [before[-1], *after])
    assert env.state_hash() == fork.state_hash()


def test_time_that_is_waited_is_no_work(env: ToolEnv) -> None:
    before, after = parts(env)
    hurried = make(noise={"deadline": 3_600})
    play(hurried, [*before, *after])
    assert hurried.score().passed
    assert hurried.episode.clock.elapsed < 3_600
    assert hurried.episode.clock.today == later_of(env).day


def test_it_happens_on_the_generic_surface_and_under_noise_too() -> None:
    generic = make(surface="generic")
    play(generic, generic.oracle())
    assert generic.score().passed
    noisy = make(noise={"latency": 50, "events": 300})
    play(noisy, noisy.oracle())
    assert noisy.score().passed


# One event by itself


def test_a_new_row_takes_the_next_free_id_and_a_changed_one_keeps_what_the_agent_wrote(env: ToolEnv) -> None:
    event, state = later_of(env), env.instance.initial_state.fork()
    [refund, *_] = [change.after for change in event.changes if change.table == "refunds"]
    assert isinstance(refund, Refund)
    taken = state.insert(replace(refund, amount_cents=1))
    [back, *_] = [change.before for change in event.changes if change.table == "returns"]
    assert isinstance(back, Return)
    state.update(back, fee_cents=7)
    happen(event, state)
    assert state.get(Refund, taken.id).amount_cents == 1
    assert state.get(Return, back.id).fee_cents == 7
    assert state.get(Return, back.id).status == "received"


def test_an_event_of_a_row_that_is_gone_does_not_happen(env: ToolEnv) -> None:
    state = env.instance.initial_state.fork()
    [change] = [c for c in later_of(env).changes if c.table == "returns"][:1]
    assert isinstance(change.before, Return)
    state.delete(change.before)
    written = len(state.journal)
    happen(later_of(env), state)
    assert len(state.journal) == written


def test_goods_of_a_cancelled_return_neither_arrive_nor_are_paid(env: ToolEnv) -> None:
    before, _ = parts(env)
    [change, *_] = [c for c in later_of(env).changes if c.table == "returns"]
    play(env, before[:-1])
    env.step({"tool": "cancel_return", "arguments": {"return_id": change.key}})
    written = len(env.journal)
    play(env, before[-1:])
    assert env.state.get(Return, change.key).status == "cancelled"
    assert len(env.journal) == written
    assert [event.written for event in env.events if event.tool == WORLD] == [0]


def test_a_column_that_an_event_changes_twice_may_be_as_its_first_change_saw_it(env: ToolEnv) -> None:
    state = env.instance.initial_state.fork()
    [change, *_] = [c for c in later_of(env).changes if c.table == "returns"]
    assert isinstance(change.after, Return)
    again = replace(change, before=change.after, after=replace(change.after, status="cancelled"))
    happen(LaterEvent(name="goods come back", day=date(2031, 1, 1), changes=(change, again)), state)
    assert state.get(Return, change.key).status == "cancelled"


def test_events_are_counted_by_their_days() -> None:
    days = [date(2031, 1, 2), date(2031, 1, 2), date(2031, 1, 5)]
    events = [LaterEvent(name=str(day), day=day, changes=()) for day in days]
    assert [due(events, date(2031, 1, day)) for day in (1, 2, 4, 5, 9)] == [0, 2, 2, 3, 3]


def test_of_several_events_those_that_are_left_happen(env: ToolEnv) -> None:
    state, event = env.instance.initial_state.fork(), later_of(env)
    other = replace(event, day=event.day + timedelta(days=1), changes=())
    assert happen_by([event, other], event.day, state, happened=0) == 1
    written = len(state.journal)
    assert happen_by([event, other], other.day, state, happened=1) == 2
    assert len(state.journal) == written
