"""Scores an episode again from its log alone, without the world.

A reward that cannot be recomputed from the record of an episode cannot be trusted, so `check_env` checks this for every
environment.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import islice

from palaestra.errors import RecordError
from palaestra.protocols import State
from palaestra.records import CodeCall, EndReason, JsonObject, RowChange, Score, ToolEvent
from palaestra.rubrics.checklist import Checklist
from palaestra.rubrics.evidence import WORLD, Evidence
from palaestra.rubrics.rubric import Rubric


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLog:
    """The log of one turn, with everything that scoring needs."""

    events: tuple[ToolEvent, ...]
    changes: tuple[RowChange, ...]
    """The journal of this turn."""
    answer: JsonObject
    """The agent's answer, if it finished in this turn."""
    end: EndReason | None
    """Why the episode ended, if it ended in this turn."""
    heard: tuple[str, ...]
    """The contents of the messages that the agent got in return."""
    code: tuple[CodeCall, ...] | None = None
    """The calls of a turn of code, each judged as a separate turn; `None` for any other turn. Printed output of such a
    turn supports nothing: only what its code read, which is here, counts."""


def rescore(rubric: Rubric, evidence: Evidence, state: State, turns: Iterable[TurnLog]) -> Iterator[Score]:
    """The score after each turn, computed from the log alone.

    Args:
        rubric: The task's rubric.
        evidence: Fresh evidence over `state`.
        state: The rows at the beginning of the episode; the changes of the log are written to it.
        turns: The log, from the first turn.

    Raises:
        RecordError: the events do not account for every change.
        RowError: a change does not fit the rows.
        RubricError: a criterion crashed.
    """
    checklist = Checklist(rubric)
    for number, turn in enumerate(turns, 1):
        changes = iter(turn.changes)
        for events, heard in _readings(turn):
            evidence.turn_start = len(evidence.events)
            for event in events:
                written = list(islice(changes, event.written))
                for change in written:
                    _write(state, change)
                if event.tool == WORLD:
                    evidence.take_in_world_changes(written)
                evidence.events.append(event)
                checklist.update(evidence)
            evidence.heard += heard
        if left := sum(1 for _ in changes):
            raise RecordError(f"turn {number}: {left} change(s) belong to no call; only calls write")
        if turn.end is not None:
            evidence.answer, evidence.end = turn.answer, turn.end
            checklist.finish(evidence)
        yield checklist.score(turn.end)


def _readings(turn: TurnLog) -> Iterator[tuple[Sequence[ToolEvent], Sequence[str]]]:
    """The events of a turn, grouped by when their answers could be read, with what was read after each group."""
    if not turn.code:
        yield turn.events, turn.heard if turn.code is None else ()
        return
    events = iter(turn.events)
    for done in turn.code:
        yield list(islice(events, done.events)), [message["content"] for message in done.messages]


def _write(state: State, change: RowChange) -> None:
    """Apply a change of the journal to `state`."""
    if change.before is None:
        assert change.after is not None, "a change has a row on at least one side"
        state.insert(change.after)
    elif change.after is None:
        state.delete(change.before)
    else:
        state.update(change.before, **{f.name: getattr(change.after, f.name) for f in fields(change.after)})
