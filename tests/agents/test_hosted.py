"""What a policy is told that the world tells others beside the messages."""

from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec, registry

from palaestra.agents.hosted import HostedEnv, WorldSpec
from palaestra.protocols import Action
from palaestra.records import LAYERS, Features, JsonObject, Message, Standing, TaskSpec
from palaestra.steps import ResetRecord, Returned, StepRecord

LOOK: JsonObject = {"name": "look"}
SORT: JsonObject = {"name": "sort"}
TASK = TaskSpec(
    id="t",
    family="t",
    split="train",
    level=1,
    traits=(),
    unseen=False,
    world_seed=0,
    max_turns=9,
    oracle_calls=0,
    features=Features(hops=0, entities=0, exceptions=0, writes=0, messages=0),
)


class Growing(gym.Env[tuple[Message, ...], Action]):
    """A world that offers another tool with its first answer."""

    def __init__(self, **switches: object) -> None:
        del switches

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[tuple[Message, ...], dict[str, Any]]:
        del seed, options
        return ResetRecord(
            messages=(Message(role="user", content="sort them"),),
            tools=[LOOK],
            task=TASK,
            rubric=(),
            seed=0,
            state_hash="",
            anchor="",
        ).to_gymnasium()

    def step(self, action: Action) -> Returned:
        del action
        return StepRecord(
            messages=(Message(role="user", content="on"),),
            reward=0.0,
            task=TASK,
            calls=(),
            unreadable=None,
            events=(),
            changes=(),
            standing=Standing(points=0, components=dict.fromkeys(LAYERS, 0), met=(), violated=()),
            end=None,
            score=None,
            user=None,
            state_hash="",
            anchor="",
            tools=[LOOK, SORT],
        ).to_gymnasium()


@pytest.fixture
def growing(monkeypatch: pytest.MonkeyPatch) -> HostedEnv:
    spec = EnvSpec("growing-v0", Growing, disable_env_checker=True, order_enforce=False)
    monkeypatch.setitem(registry, "growing-v0", spec)
    return HostedEnv(WorldSpec(env_id="growing-v0", action_format="json"))


def test_a_policy_reads_once_of_tools_that_come_on_the_way(growing: HostedEnv) -> None:
    growing.reset("t", 0)
    first = growing.step("hello")
    assert [m["content"] for m in first.messages] == ["on", 'Further tools are on offer now: [{"name":"sort"}]']
    second = growing.step("hello")
    assert [m["content"] for m in second.messages] == ["on"]
