"""Episodes and groups as a diagnosis keeps them, and whole episodes with a small rubric, written by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode, DiagnosedGroup
from palaestra.records import (
    CriterionSpec,
    EndReason,
    Features,
    JsonObject,
    Score,
    TaskSpec,
    ToolCall,
    ToolEvent,
    Verdict,
)
from palaestra.trajectory import Episode, Segment, Turn

_EPISODE = DiagnosedEpisode(
    step=1,
    task="w/refund/1",
    family="w/refund",
    solved=False,
    returned=0.0,
    total=100,
    end=EndReason.FINISHED,
    criteria=("saw-order", "refunded", "slip"),
    missed=(),
    broken=(),
    harmed=False,
    look_ups=(),
    work=(),
    acted=False,
    expected=None,
    closed="left open",
    turns=4,
    unreadable=0,
)


def one(**changes: Any) -> DiagnosedEpisode:
    """An episode that looked at nothing and finished, but for `changes`."""
    return replace(_EPISODE, **changes)


def group(
    *episodes: DiagnosedEpisode, step: int = 1, task: str = "w/refund/1", family: str = "w/refund", lost: int = 0
) -> DiagnosedGroup:
    """A group whose episodes are all of its step, task and family."""
    own = tuple(replace(episode, step=step, task=task, family=family) for episode in episodes)
    return DiagnosedGroup(step=step, task=task, family=family, episodes=own, lost=lost)


def solved(count: int, of: int, **names: Any) -> DiagnosedGroup:
    """A group in which some members solved the task, for 100 points; the others won none."""
    members = [one(solved=place < count, returned=100.0 * (place < count)) for place in range(of)]
    return group(*members, **names)


LOOKED = CriterionSpec(id="saw-order", text="Looked.", kind="expect", points=5, layer="selection", after=())
DECLINED = CriterionSpec(id="declined", text="Declined it.", kind="expect", points=95, layer="outcome", after=())
SLIP = CriterionSpec(id="slip", text="A wrong change.", kind="forbid", points=20, layer="outcome", after=())
GUESSED = CriterionSpec(id="ungrounded", text="A guess.", kind="forbid", points=100, layer="params", after=())


def case(status: str, key: str = "TCK-1") -> JsonObject:
    """A case's row."""
    return {"id": key, "status": status, "policy_id": None, "evidence_id": None}


def close(before: str, after: str, key: str = "TCK-1") -> JsonObject:
    """A change of a case's status, as a journal has it."""
    return {"table": "tickets", "key": key, "before": case(before, key), "after": case(after, key)}


def turn(
    *changes: JsonObject,
    violated: Sequence[str] = (),
    reward: float = 0.0,
    readable: bool = True,
    by_world: bool = False,
) -> Turn:
    """A turn of one call that made these changes."""
    call = ToolCall(tool="decline_request", arguments={})
    event = ToolEvent(
        call_id="world_1" if by_world else "call_1",
        tool=call.tool,
        arguments={},
        schema_ok=True,
        semantic_ok=True,
        executed=True,
        result_digest="",
        error=None,
        cost=1,
        latency=1,
        duplicate_of=None,
        named=(),
        written=len(changes),
        shown=(),
        mentioned=frozenset(),
    )
    return Turn(
        text="",
        calls=(call,) if readable else (),
        events=(event,) if readable else (),
        changes=changes,
        observation=(),
        reward=reward,
        components={},
        met=(),
        violated=tuple(violated),
        state_hash="",
        anchor="",
    )


def episode(
    *turns: Turn,
    rubric: Sequence[CriterionSpec] = (LOOKED, DECLINED, SLIP, GUESSED),
    met: Mapping[str, bool] | None = None,
    passed: bool = False,
    end: EndReason | None = EndReason.FINISHED,
) -> Episode:
    """A whole episode.

    Args:
        turns: Of it.
        rubric: Its criteria.
        met: The verdicts that are not "not met".
        passed: Whether it solved its task.
        end: How it ended.
    """
    verdicts = {spec.id: Verdict(met=bool((met or {}).get(spec.id)), reason="") for spec in rubric}
    return Episode(
        env_id="w",
        task=TaskSpec(
            id="w/refund/1",
            family="w/refund",
            split="train",
            level=1,
            traits=(),
            unseen=False,
            world_seed=0,
            max_turns=9,
            oracle_calls=3,
            features=Features(hops=0, entities=1, exceptions=0, writes=1, messages=0),
        ),
        agent="policy",
        seed=0,
        tools=(),
        rubric=tuple(rubric),
        segments=(Segment(prompt=(), turns=turns),),
        end=end,
        score=Score(points=0, total=100, passed=passed, verdicts=verdicts, components={}),
        valid_for_baseline=True,
    )
