"""Decisions without the handbook: by what a tool refuses, or by rows that look as if they were planted."""

import re
from dataclasses import fields

import orjson

from palaestra.envs.attack import WorldScript
from palaestra.envs.blueprints.attacks.halves import other_half
from palaestra.envs.instance import Instance
from palaestra.records import Message, Row, ToolCall


def try_the_work_first(task: Instance) -> WorldScript:
    """Look up what the solution looks up, do what would be granted, and refuse only where a tool refuses it."""
    halves = _granted_and_refused(task)
    if halves is None:
        return
    granted, refused = halves
    yield from ([call] for call in _reads(task))
    for call in _acts(granted):
        if any(_is_refusal(message) for message in (yield [call])):
            yield from ([other] for other in _acts(refused))
            return


def refuse_by_the_newest_row(task: Instance) -> WorldScript:
    """Look up what the solution looks up, and refuse where an answer shows the last row of a table."""
    halves = _granted_and_refused(task)
    if halves is None:
        return
    granted, refused = halves
    newest = _newest_rows(task)
    seen = False
    for call in _reads(task):
        answers = yield [call]
        seen |= any(newest & set(re.findall(r"[A-Za-z]+[-_]?\d+", message["content"])) for message in answers)
    yield from ([call] for call in _acts(refused if seen else granted))


def _granted_and_refused(task: Instance) -> tuple[Instance, Instance] | None:
    other = other_half(task)
    if other is None:
        return None
    return (other, task) if task.family.twin_of is not None else (task, other)


def _reads(task: Instance) -> list[ToolCall]:
    """What the solution does before its first write or its last message."""
    return list(task.oracle[: _first_act(task)])


def _acts(task: Instance) -> list[ToolCall]:
    return list(task.oracle[_first_act(task) :])


def _first_act(task: Instance) -> int:
    writes = [place for place, call in enumerate(task.oracle) if task.world.toolbox[call.tool].writes]
    talks = [place for place, call in enumerate(task.oracle) if call.tool == task.world.toolbox.prose_tool]
    return min([*writes, *talks[-1:]])


def _newest_rows(task: Instance) -> frozenset[str]:
    """The last id of each table but those of cases, which are always new."""
    kinds = [info.kind for info in task.world.schema if "policy_id" not in _columns(info.kind)]
    ids = [[row.id for row in task.initial_state.find(kind)] for kind in kinds]
    return frozenset(max(keys, key=lambda key: (len(key), key)) for keys in ids if keys)


def _columns(kind: type[Row]) -> frozenset[str]:
    return frozenset(column.name for column in fields(kind))


def _is_refusal(message: Message) -> bool:
    return message["role"] == "tool" and "error" in orjson.loads(message["content"])
