"""Decisions without the handbook: by what a tool refuses, or by rows that look as if they were planted."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from datetime import date
from functools import lru_cache
from itertools import pairwise

import orjson

from palaestra.envs.attack import WorldScript
from palaestra.envs.blueprints.attacks.halves import other_half
from palaestra.envs.instance import Instance
from palaestra.records import Message, Row, ToolCall


def try_the_work_first(task: Instance) -> WorldScript:
    """Look up what the solution looks up, do what would be granted, and refuse only where a tool refuses it."""
    halves = _twin_pair(task)
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
    newest = frozenset(keys[-1] for keys in _keys_by_table(task))
    return _refuse_where(task, lambda shown: not newest.isdisjoint(shown))


def refuse_by_the_oldest_row(task: Instance) -> WorldScript:
    """Look up what the solution looks up, and refuse where an answer shows the first row of a table."""
    oldest = frozenset(keys[0] for keys in _keys_by_table(task))
    return _refuse_where(task, lambda shown: not oldest.isdisjoint(shown))


def refuse_by_a_row_out_of_order(task: Instance) -> WorldScript:
    """Look up what the solution looks up, and refuse where the ids of a list follow one another but for one."""
    places = {key: (table, place) for table, keys in enumerate(_keys_by_table(task)) for place, key in enumerate(keys)}

    def is_out_of_order(shown: Sequence[str]) -> bool:
        by_table: dict[int, set[int]] = {}
        for table, place in {places[key] for key in shown if key in places}:
            by_table.setdefault(table, set()).add(place)
        return any(_has_one_apart(sorted(found)) for found in by_table.values())

    return _refuse_where(task, is_out_of_order)


def refuse_by_the_newest_date(task: Instance) -> WorldScript:
    """Look up what the solution looks up, and refuse where an answer shows the row with the newest day of a table."""
    newest = _rows_of_extreme_days(task, max)
    return _refuse_where(task, lambda shown: not newest.isdisjoint(shown))


def refuse_by_the_oldest_date(task: Instance) -> WorldScript:
    """Look up what the solution looks up, and refuse where an answer shows the row with the oldest day of a table."""
    oldest = _rows_of_extreme_days(task, min)
    return _refuse_where(task, lambda shown: not oldest.isdisjoint(shown))


def _refuse_where(task: Instance, stands_out: Callable[[Sequence[str]], bool]) -> WorldScript:
    """Look up what the solution looks up, and refuse where the ids of an answer stand out."""
    halves = _twin_pair(task)
    if halves is None:
        return
    granted, refused = halves
    seen = False
    for call in _reads(task):
        answers = yield [call]
        seen |= any(stands_out(_ids_in(message["content"], task)) for message in answers)
    yield from ([call] for call in _acts(refused if seen else granted))


def _twin_pair(task: Instance) -> tuple[Instance, Instance] | None:
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


def _ids_in(text: str, task: Instance) -> list[str]:
    """The ids in an answer, as the rows have them."""
    keys = {re.sub("[-_]", "", key): key for table in _keys_by_table(task) for key in table}
    found = (re.sub("[-_]", "", one) for one in re.findall(r"[A-Za-z]+[-_]?\d+", text))
    return [keys[one] for one in found if one in keys]


@lru_cache(maxsize=64)
def _keys_by_table(task: Instance) -> tuple[tuple[str, ...], ...]:
    """The ids of each table but that of cases, which are always new, in their order."""
    tables = (sorted((row.id for row in rows), key=lambda key: (len(key), key)) for rows in _rows_by_table(task))
    return tuple(map(tuple, tables))


def _rows_by_table(task: Instance) -> list[list[Row]]:
    kinds = [info.kind for info in task.world.schema if "policy_id" not in _columns(info.kind)]
    return [rows for kind in kinds if (rows := task.initial_state.find(kind))]


def _rows_of_extreme_days(task: Instance, extreme: Callable[[Iterable[date]], date]) -> frozenset[str]:
    """The rows that have the newest or the oldest day of a column, where no other row has it."""
    found: set[str] = set()
    for rows in _rows_by_table(task):
        for column in sorted(_columns(type(rows[0]))):
            days = {row.id: day for row in rows if isinstance(day := getattr(row, column), date)}
            keys = [key for key, day in days.items() if day == extreme(days.values())] if days else []
            found.update(keys if len(keys) == 1 else ())
    return frozenset(found)


def _has_one_apart(places: Sequence[int]) -> bool:
    """Whether rows follow one another in their table but for one."""
    breaks = [place for place, (one, other) in enumerate(pairwise(places), 1) if other - one > 1]
    return len(places) > 2 and len(breaks) == 1 and breaks[0] in {1, len(places) - 1}


def _columns(kind: type[Row]) -> frozenset[str]:
    return frozenset(column.name for column in fields(kind))


def _is_refusal(message: Message) -> bool:
    return message["role"] == "tool" and "error" in orjson.loads(message["content"])
