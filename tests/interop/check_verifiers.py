# verifiers lives under another Python than the one that checks types; `make interop` runs this file there.
# mypy: disable-error-code="import-not-found, misc, unused-ignore"
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
"""The adapter for verifiers: conformance by rollouts with its own client against a scripted server."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
import verifiers.v1 as vf
from verifiers.v1.envs.single_agent import SingleAgentEnv, SingleAgentEnvConfig

from adapted.conformance import AdapterConformance, AdapterOutcome, oracle
from adapted.watched import WATCHED_ID, register_watched
from chatserver import Answer, ChatServer, Reset, chat, chat_server
from palaestra.records import ToolCall
from worlds.registration import LIBRARY_ID

EXAMPLES = str(Path(__file__).parents[2] / "examples" / "interop")
if EXAMPLES not in sys.path:
    sys.path.append(EXAMPLES)


def roll_out(server: ChatServer, switches: dict[str, Any], *, seed: int, turns: int) -> vf.Trace:
    """One rollout with verifiers' own environment, client and limits."""
    register_watched()
    config = SingleAgentEnvConfig(
        taskset={"id": "palaestra_world", "env_id": WATCHED_ID, "switches": switches, "first_seed": seed, "seeds": 1},
        agent={"runtime": {"type": "subprocess"}, "max_turns": turns},
    )
    env = SingleAgentEnv(config)
    context = vf.ModelContext(
        model="scripted", client=vf.EvalClientConfig(base_url=server.url, api_key_var="NO_SUCH_KEY")
    )

    async def run() -> vf.Trace:
        async with env.serving():
            [task] = env.taskset
            [slot] = env.slots(task)
            episode = await env.run_slot(slot, context)
            [trace] = episode.traces
            return trace

    return asyncio.run(run())


def answers(turns: Sequence[Sequence[ToolCall]]) -> list[Answer]:
    """The turns as a server of a model answers them."""
    return [chat(None, *((call.tool, dict(call.arguments)) for call in turn)) for turn in turns]


class TestVerifiers(AdapterConformance):
    def play(self, switches: dict[str, Any], seed: int, turns: Sequence[Sequence[ToolCall]]) -> AdapterOutcome:
        with chat_server(*answers(turns)) as server:
            trace = roll_out(server, switches, seed=seed, turns=len(turns))
            read = b"\n".join(orjson.dumps(asked.body) for asked in server.asked).decode()
        if trace.ok:
            return AdapterOutcome(reward=trace.reward, read=read)
        assert not any(reward is not None for reward in trace.rewards.values())
        return AdapterOutcome(reward=None, read=read)


def test_the_trace_holds_every_turn() -> None:
    calls = oracle(LIBRARY_ID, 0)
    with chat_server(*answers([[call] for call in calls])) as server:
        trace = roll_out(server, {}, seed=0, turns=30)
    assert trace.num_turns == len(calls)
    assert trace.reward == 1.0


def test_a_model_that_cannot_be_reached_makes_the_rollout_void() -> None:
    with chat_server(*answers([[oracle(LIBRARY_ID, 0)[0]]]), Reset()) as server:
        trace = roll_out(server, {}, seed=0, turns=30)
    assert not trace.ok
    assert trace.last_error.type == "ProviderError"


@pytest.mark.parametrize("first", [0, 7])
def test_tasks_are_seeds(first: int) -> None:
    config = SingleAgentEnvConfig(taskset={"id": "palaestra_world", "env_id": WATCHED_ID, "first_seed": first})
    taskset = SingleAgentEnv(config).taskset
    assert not taskset.bounded
    assert [task.data.seed for task in taskset.take(3)] == [first, first + 1, first + 2]
    assert len({task.key for task in taskset.take(3)}) == 3
