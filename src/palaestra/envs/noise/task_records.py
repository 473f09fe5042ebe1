"""What a task turns on: the records that its solution reads or writes, and what belongs to them.

Worked out by playing the author's own solutions, once for each instance. Whatever happens in the world by itself keeps
clear of it, so that the rubric stays right.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from palaestra.clock import Clock
from palaestra.envs.later import happen_by
from palaestra.ids import words, words_in
from palaestra.records import ToolCall, ToolEvent
from palaestra.tools import ToolContext

if TYPE_CHECKING:  # worlds hand over noise, so instances come after it
    from palaestra.envs.instance import Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecords:
    """The records that a task turns on."""

    shown: tuple[tuple[str, str], ...]
    """(table, key) of the rows that the solution is shown whole, in the order of the records' keys."""
    ids: frozenset[str]
    """The ids of all records that any solution names or is told, and of those that belong to their owners."""


@lru_cache(maxsize=512)
def task_records(instance: "Instance") -> TaskRecords:
    """What `instance` turns on."""
    oracle = _play(instance, instance.oracle)
    others = [event for calls in instance.alternatives for event in _play(instance, calls)]
    ids = set(instance.given)
    for event in (*oracle, *others):
        ids |= event.mentioned
        ids.update(event.named, words_in(event.arguments))
    for criterion in instance.rubric.criteria:
        ids.update(words(criterion.text), (a.key for a in criterion.allows if a.key))
    ids.update(a.key for a in instance.permitted if a.key)
    ids.update(_belongings(instance, ids))
    return TaskRecords(shown=tuple(sorted({pair for e in oracle for pair in e.shown})), ids=frozenset(ids))


def _play(instance: "Instance", calls: Sequence[ToolCall]) -> list[ToolEvent]:
    """What comes of `calls`, made on the rows that the task begins with."""
    world = instance.world
    state, clock = instance.initial_state.fork(), Clock(instance.start)
    context = ToolContext(
        state=state,
        clock=clock,
        role=world.role,
        actor=world.actor,
        ids_in=world.schema.ids_in,
        rules=instance.rules,
        states=state.states,
    )
    events: list[ToolEvent] = []
    happened = 0
    for number, call in enumerate(calls):
        events.append(world.toolbox.call(context, state, str(number), call, events).event)
        happened = happen_by(instance.later, clock.today, state, happened=happened)
    return events


def _belongings(instance: "Instance", ids: set[str]) -> Iterator[str]:
    """The ids of the rows that point to an owner among `ids`."""
    world, state = instance.world, instance.initial_state
    material = world.noise
    owners = [world.schema[table] for table in (material.owners if material else ())]
    for owner in owners:
        owning = [id_ for id_ in sorted(ids) if state.peek(owner.kind, id_) is not None]
        for info in world.schema:
            for name in (n for n in info.references if info.columns[n].references == owner.name):
                yield from (row.id for id_ in owning for row in state.find(info.kind, **{name: id_}))
