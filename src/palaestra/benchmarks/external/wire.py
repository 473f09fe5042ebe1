"""Conversion between the protocol's values and Palaestra's records."""

from collections.abc import Mapping, Sequence
from typing import cast

from palaestra.benchmarks.external.offer import REPLY
from palaestra.benchmarks.external.protocol import WireCriterion, WireMessage, WireTask, WireTurn, WireVerdict
from palaestra.digest import digest
from palaestra.protocols import Action
from palaestra.records import (
    LAYERS,
    CriterionSpec,
    Features,
    Layer,
    Message,
    Score,
    TaskSpec,
    ToolCall,
    ToolEvent,
    Verdict,
)

_NO_FEATURES = Features(hops=0, entities=0, exceptions=0, writes=0, messages=0)


def spec_of(task: WireTask, id: str, trainable: Sequence[str]) -> TaskSpec:
    """The public description of a task."""
    return TaskSpec(
        id=id,
        family=task["category"],
        split=task["split"],
        level=1,
        traits=(),
        unseen=task["split"] not in trainable,
        world_seed=0,
        max_turns=task["max_turns"],
        oracle_calls=task["gold_calls"],
        features=_NO_FEATURES,
    )


def criterion_of(wire: WireCriterion) -> CriterionSpec:
    """A sub-score, as a line of a rubric."""
    return CriterionSpec(
        id=wire["id"],
        text=wire["text"],
        kind="forbid" if wire["kind"] == "forbid" else "expect",
        points=wire["points"],
        layer="outcome",
        after=(),
    )


def message_of(wire: WireMessage) -> Message:
    """A chat message."""
    return cast("Message", dict(wire))


def action_of(turn: WireTurn) -> Action:
    """A turn as an agent's action."""
    if turn["calls"]:
        return [{"tool": call["tool"], "arguments": call["arguments"]} for call in turn["calls"]]
    return {"tool": REPLY, "arguments": {"message": turn["prose"]}}


def components_of(points: int) -> Mapping[Layer, int]:
    """Points by layer: a benchmark has only outcomes."""
    return {layer: points if layer == "outcome" else 0 for layer in LAYERS}


def score_of(verdict: WireVerdict) -> Score:
    """A benchmark's judgement."""
    return Score(
        points=verdict["points"],
        total=100,
        passed=verdict["passed"],
        verdicts={name: Verdict(met=v["met"], reason=v["reason"]) for name, v in verdict["criteria"].items()},
        components=components_of(verdict["points"]),
    )


def counting_criteria(rubric: Sequence[CriterionSpec], score: Score | None, kind: str) -> tuple[str, ...]:
    """The criteria of `kind` ("expect" or "forbid") that count; empty before the end."""
    counted = {name for name, verdict in score.verdicts.items() if verdict.met} if score else set[str]()
    return tuple(c.id for c in rubric if c.kind == kind and c.id in counted)


def event_of(
    call: ToolCall, content: str, error: str | None, *, call_id: str, fits: bool, duplicate_of: str | None
) -> ToolEvent:
    """The event of one call."""
    return ToolEvent(
        call_id=call_id,
        tool=call.tool,
        arguments=call.arguments,
        schema_ok=fits,
        semantic_ok=error is None,
        executed=error is None,
        result_digest=digest(content),
        error=error,
        cost=0,
        latency=0,
        duplicate_of=duplicate_of,
        named=(),
        written=0,
        shown=(),
        mentioned=frozenset(),
    )
