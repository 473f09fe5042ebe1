"""What happens in a world on a later day of an episode, whatever the agent does: goods arrive, a person writes again.

Time passes only where a tool waits (`Clock.wait`). An event of a day happens once a call has taken the clock to that
day. It is a write of the world, so it is in the journal and in the log, and it is no change of the agent's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import date

from palaestra.digest import digest_bytes
from palaestra.protocols import State
from palaestra.records import RowChange, ToolEvent
from palaestra.rubrics import WORLD


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterEvent:
    """Something that happens in the world on a later day."""

    name: str
    """How the log names it."""
    day: date
    """It has happened before anybody can look on that day."""
    changes: tuple[RowChange, ...]
    """What it writes, in order; it deletes no row."""


def happen(event: LaterEvent, state: State) -> None:
    """Write what an event does, all of it or nothing.

    It changes the columns that its author changed, and a new row takes the next free id. Where the agent has deleted a
    row or written to a column that the event would change, it does not happen: goods of a cancelled return never
    arrive, and nobody pays for them.
    """
    if not _can_happen(event, state):
        return
    for change in event.changes:
        assert change.after is not None, f"{event.name} deletes {change.key}"
        if change.before is None:
            state.insert(replace(change.after, id=state.next_id(type(change.after))))
        else:
            state.update(state.get(type(change.after), change.key), **_differences(change))


def happen_by(events: Sequence[LaterEvent], today: date, state: State, *, happened: int) -> int:
    """Write what has happened by the morning of `today`, but for the first `happened` events; how many have by then."""
    for event in events[happened : due(events, today)]:
        happen(event, state)
    return max(happened, due(events, today))


def due(events: Sequence[LaterEvent], today: date) -> int:
    """How many of these events, in order of their days, have happened by the morning of `today`."""
    return sum(event.day <= today for event in events)


def log_world_event(call_id: str, name: str, written: int) -> ToolEvent:
    """The record of something that nobody called: the world wrote by itself."""
    return ToolEvent(
        call_id=call_id,
        tool=WORLD,
        arguments={"what": name},
        schema_ok=True,
        semantic_ok=True,
        executed=True,
        result_digest=digest_bytes(b""),
        error=None,
        cost=0,
        latency=0,
        duplicate_of=None,
        named=(),
        written=written,
        shown=(),
        mentioned=frozenset(),
    )


def _can_happen(event: LaterEvent, state: State) -> bool:
    seen: set[tuple[str, str, str]] = set()
    for change in event.changes:
        if change.before is None:
            continue
        row = state.peek(type(change.before), change.key)
        # Of several changes to a column the first one saw it as it was before the event.
        columns = [name for name in _differences(change) if (change.table, change.key, name) not in seen]
        if row is None or any(getattr(row, name) != getattr(change.before, name) for name in columns):
            return False
        seen.update((change.table, change.key, name) for name in columns)
    return True


def _differences(change: RowChange) -> dict[str, object]:
    before, after = change.before, change.after
    assert before is not None, f"{change.key} is new"
    assert after is not None, f"{change.key} is deleted"
    names = (field.name for field in fields(after))
    return {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}
