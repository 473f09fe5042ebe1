"""What came of a slot, in figures: an episode counted, or a fault named."""

from typing import Any, cast

import orjson

from palaestra.benchmarks.evaluation.agents.contender import Came, Spent
from palaestra.benchmarks.evaluation.outcome import Fault, FaultKind, Outcome
from palaestra.benchmarks.evaluation.slot import Slot
from palaestra.errors import EngineError, ReplyError, ServerError, WaitError
from palaestra.trajectory import Episode, Turn

_KINDS: tuple[tuple[type[Exception], FaultKind], ...] = (
    (WaitError, "time"),
    (ServerError, "server"),
    (ReplyError, "reply"),
    (EngineError, "engine"),
)


def fault_of(error: Exception) -> Fault:
    """Whose fault an error is; the world's where nothing else is known."""
    for type_, kind in _KINDS:
        if isinstance(error, type_):
            return Fault(kind=kind, said=str(error))
    return Fault(kind="world", said=str(error))


def outcome_of(came: Came) -> Outcome:
    """The figures of what came of a slot."""
    return _faulty(came.slot, came.came, came.spent) if isinstance(came.came, Fault) else _counted(came, came.came)


def _faulty(slot: Slot, fault: Fault, spent: Spent) -> Outcome:
    return Outcome(
        cell=slot.cell,
        task=slot.task,
        sample=slot.sample,
        fault=fault,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        troubles=spent.troubles,
    )


def _counted(came: Came, episode: Episode) -> Outcome:
    turns = list(episode.turns)
    events = [event for turn in turns for event in turn.events]
    return Outcome(
        cell=came.slot.cell,
        task=came.slot.task,
        sample=came.slot.sample,
        points=episode.score.points,
        solved=episode.score.passed,
        harmed=any(turn.violated for turn in turns),
        criteria={name: verdict.met for name, verdict in episode.score.verdicts.items()},
        end=episode.end,
        turns=len(turns),
        calls=sum(len(turn.calls) for turn in turns),
        invalid=sum(not event.schema_ok for event in events) + sum(map(unreadable, turns)),
        refused=sum(event.schema_ok and event.error is not None for event in events),
        prompt_tokens=came.spent.prompt_tokens,
        completion_tokens=came.spent.completion_tokens,
        troubles=came.spent.troubles,
    )


def unreadable(turn: Turn) -> bool:
    """Whether the world could not read a turn: nothing of it was run, and that is what it answered."""
    if turn.events or len(turn.observation) != 1 or turn.observation[0]["role"] != "tool":
        return False
    try:
        # Any: a world's own words.
        answer: Any = orjson.loads(turn.observation[0]["content"])
    except orjson.JSONDecodeError:
        return False
    error: Any = cast("dict[str, Any]", answer).get("error") if isinstance(answer, dict) else None
    return isinstance(error, dict) and cast("dict[str, Any]", error).get("code") == "unreadable"
