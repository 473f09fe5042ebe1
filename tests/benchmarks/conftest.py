"""Small episodes, written by hand, and a benchmark of our own that is played as those of others are."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import gymnasium as gym
import orjson
import pytest

import palaestra.benchmarks.external.env as seam
from outside import TOY, TOY_ID
from palaestra.benchmarks.external import BENCHMARKS
from palaestra.benchmarks.external.worker import BenchmarkProcesses
from palaestra.digest import digest
from palaestra.records import (
    CriterionSpec,
    EndReason,
    Features,
    JsonObject,
    Message,
    Score,
    TaskSpec,
    ToolCall,
    ToolEvent,
    Verdict,
)
from palaestra.trajectory import Episode, Segment, Turn

EpisodeFactory: TypeAlias = Callable[..., Episode]

TOOLS: tuple[JsonObject, ...] = (
    {
        "name": "get_order",
        "description": "Read an order.",
        "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}},
    },
    {
        "name": "issue_refund",
        "description": "Pay money back.",
        "parameters": {"type": "object", "properties": {"amount_cents": {"type": "integer"}}},
    },
)

RUBRIC = (
    CriterionSpec(
        id="read-order",
        text="The order was read.",
        kind="expect",
        points=1,
        layer="selection",
        after=(),
    ),
    CriterionSpec(
        id="refunded",
        text="The damaged item was refunded in full.",
        kind="expect",
        points=3,
        layer="outcome",
        after=("read-order",),
    ),
)


def _event(call_id: str, call: ToolCall, error: str | None = None) -> ToolEvent:
    return ToolEvent(
        call_id=call_id,
        tool=call.tool,
        arguments=call.arguments,
        schema_ok=True,
        semantic_ok=error is None,
        executed=error is None,
        result_digest="",
        error=error,
        cost=1,
        latency=20,
        duplicate_of=None,
        named=("ORD-1",),
        written=0,
        shown=(),
        mentioned=frozenset({"ORD-1"}),
    )


def _read_turn(text: str) -> Turn:
    call = ToolCall(tool="get_order", arguments={"order_id": "ORD-1", "note": text})
    return Turn(
        text=text,
        calls=(call,),
        events=(_event("call-1", call),),
        changes=(),
        observation=(Message(role="tool", content=text, name="get_order", tool_call_id="call-1"),),
        reward=1.0,
        components={"selection": 1},
        met=("read-order",),
        violated=(),
        state_hash="0a" * 16,
        anchor="",
    )


def _refund_turn(text: str) -> Turn:
    call = ToolCall(tool="issue_refund", arguments={"amount_cents": 1999})
    return Turn(
        text=None,
        calls=(call,),
        events=(_event("call-2", call, error="not_allowed"),),
        changes=({"table": "refunds", "key": "RFD-1", "before": None, "after": {"id": "RFD-1", "note": text}},),
        observation=(Message(role="user", content=text),),
        reward=0.0,
        components={},
        met=("read-order",),
        violated=(),
        state_hash="0b" * 16,
        anchor="",
    )


@pytest.fixture
def make_episode() -> EpisodeFactory:
    """Builds a two-turn episode; `text` stands wherever an agent, a user or a world can write."""

    def make(
        *, index: int = 1, agent: str = "scripted", seed: int = 0, text: str = "Hello", valid: bool = True
    ) -> Episode:
        return Episode(
            env_id="palaestra/Storefront-v0",
            task=TaskSpec(
                id=f"storefront/refund-damaged-item/{index:04}",
                family="refund-damaged-item",
                split="train",
                level=2,
                traits=("multi-hop",),
                world_seed=7,
                max_turns=12,
                unseen=False,
                oracle_calls=3,
                features=Features(hops=1, entities=2, exceptions=0, writes=1, messages=1),
            ),
            agent=agent,
            seed=seed,
            tools=TOOLS,
            rubric=RUBRIC,
            segments=(
                Segment(
                    prompt=(
                        Message(role="system", content="You are a support agent."),
                        Message(role="user", content=text),
                    ),
                    turns=(_read_turn(text), _refund_turn(text)),
                ),
            ),
            end=EndReason.GAVE_UP,
            score=Score(
                points=1,
                total=4,
                passed=False,
                verdicts={
                    "read-order": Verdict(met=True, reason=text),
                    "refunded": Verdict(met=False, reason="no refund"),
                },
                components={"selection": 1, "outcome": 0},
            ),
            valid_for_baseline=valid,
        )

    return make


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BenchmarkProcesses]:
    """The toy, installed: played by this interpreter; its processes end with the test."""
    folder = tmp_path / "benchmarks" / TOY.name
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "bin" / "python").symlink_to(sys.executable)
    (folder / "installed.json").write_bytes(orjson.dumps({"digest": digest(TOY.installation), "checkout": None}))
    monkeypatch.setitem(BENCHMARKS._entries, TOY.name, TOY)  # as others register theirs
    gym.register(  # pyright: ignore[reportUnknownMemberType]
        TOY_ID,
        entry_point="palaestra.benchmarks.external.env:ExternalEnv",
        kwargs={"env_id": TOY_ID},
        disable_env_checker=True,
        order_enforce=False,
    )
    monkeypatch.setenv("PALAESTRA_BENCHMARKS", str(tmp_path / "benchmarks"))
    workers = BenchmarkProcesses(most=1)
    monkeypatch.setattr(seam, "WORKERS", workers)
    yield workers
    workers.close()
    del gym.registry[TOY_ID]
