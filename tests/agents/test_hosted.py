"""What a policy is told that the world tells others beside the messages."""

from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec, registry

from palaestra.agents.hosted import HostedEnv, WorldSpec
from palaestra.protocols import Action
from palaestra.records import LAYERS, Message

LOOK, SORT = {"name": "look"}, {"name": "sort"}


class Growing(gym.Env[tuple[Message, ...], Action]):
    """A world that offers another tool with its first answer."""

    def __init__(self, **switches: object) -> None:
        del switches

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[tuple[Message, ...], dict[str, Any]]:
        del seed, options
        return (Message(role="user", content="sort them"),), {"tools": [LOOK], "rubric": (), "task": None}

    def step(self, action: Action) -> tuple[tuple[Message, ...], float, bool, bool, dict[str, Any]]:
        del action
        nothing = dict.fromkeys(("calls", "events", "changes", "met", "violated"), ())
        info: dict[str, Any] = {
            **nothing,
            "components": dict.fromkeys(LAYERS, 0),
            "state_hash": "",
            "anchor": "",
            "end": None,
            "score": None,
            "tools": [LOOK, SORT],
        }
        return (Message(role="user", content="on"),), 0.0, False, False, info


@pytest.fixture
def growing(monkeypatch: pytest.MonkeyPatch) -> HostedEnv:
    spec = EnvSpec("growing-v0", Growing, disable_env_checker=True, order_enforce=False)
    monkeypatch.setitem(registry, "growing-v0", spec)
    return HostedEnv(WorldSpec(env_id="growing-v0", action_format="json"))


def test_a_policy_reads_once_of_tools_that_come_on_the_way(growing: HostedEnv) -> None:
    growing.reset("t", 0)
    first, _ = growing.step("hello")
    assert [m["content"] for m in first] == ["on", 'Further tools are on offer now: [{"name":"sort"}]']
    second, _ = growing.step("hello")
    assert [m["content"] for m in second] == ["on"]
