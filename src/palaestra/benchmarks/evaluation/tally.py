"""Turns attempts into outcomes: the figures of an episode, or a fault."""

from typing import Any, cast

import orjson

from palaestra.benchmarks.evaluation.agents.agent import Attempt, EpisodeCost
from palaestra.benchmarks.evaluation.episode_key import EpisodeKey
from palaestra.benchmarks.evaluation.outcome import EpisodeFault, EpisodeOutcome, FaultKind
from palaestra.errors import EngineError, ReplyError, ServerError, WaitError
from palaestra.packs import generated_place
from palaestra.trajectory import Episode, Turn

_KINDS: tuple[tuple[type[Exception], FaultKind], ...] = (
    (WaitError, "time"),
    (ServerError, "server"),
    (ReplyError, "reply"),
    (EngineError, "engine"),
)


def fault_of(error: Exception) -> EpisodeFault:
    """The fault for an error; the world's by default."""
    for type_, kind in _KINDS:
        if isinstance(error, type_):
            return EpisodeFault(kind=kind, said=str(error))
    return EpisodeFault(kind="world", said=str(error))


def outcome_of(came: Attempt) -> EpisodeOutcome:
    """The outcome of an attempt."""
    return (
        _faulty(came.episode_key, came.came, came.spent)
        if isinstance(came.came, EpisodeFault)
        else _make_outcome(came, came.came)
    )


def _faulty(episode_key: EpisodeKey, fault: EpisodeFault, spent: EpisodeCost) -> EpisodeOutcome:
    return EpisodeOutcome(
        cell=episode_key.cell,
        task=episode_key.task,
        sample=episode_key.sample,
        fault=fault,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        troubles=spent.troubles,
    )


def _make_outcome(came: Attempt, episode: Episode) -> EpisodeOutcome:
    turns = list(episode.turns)
    events = [event for turn in turns for event in turn.events]
    return EpisodeOutcome(
        cell=came.episode_key.cell,
        task=came.episode_key.task,
        sample=came.episode_key.sample,
        family=episode.task.family,
        world=_world_of(episode),
        points=episode.score.points,
        solved=episode.score.passed,
        harmed=any(turn.violated for turn in turns),
        criteria={name: verdict.met for name, verdict in episode.score.verdicts.items()},
        end=episode.end,
        injection=episode.injection,
        turns=len(turns),
        calls=sum(len(turn.calls) for turn in turns),
        invalid=sum(not event.schema_ok for event in events) + sum(map(unreadable, turns)),
        refused=sum(event.schema_ok and event.error is not None for event in events),
        prompt_tokens=came.spent.prompt_tokens,
        completion_tokens=came.spent.completion_tokens,
        troubles=came.spent.troubles,
    )


def _world_of(episode: Episode) -> str:
    """The unit of claims about worlds: a generated world, or a world seed of a handmade one."""
    name = episode.task.id.partition("/")[0]
    return f"{episode.env_id} {episode.task.world_seed}" if generated_place(name) is None else name


def unreadable(turn: Turn) -> bool:
    """Whether the world could not read a turn: it ran nothing of it and answered so."""
    if turn.events or len(turn.observation) != 1 or turn.observation[0]["role"] != "tool":
        return False
    try:
        # Any: the world's own JSON.
        answer: Any = orjson.loads(turn.observation[0]["content"])
    except orjson.JSONDecodeError:
        return False
    error: Any = cast("dict[str, Any]", answer).get("error") if isinstance(answer, dict) else None
    return isinstance(error, dict) and cast("dict[str, Any]", error).get("code") == "unreadable"
