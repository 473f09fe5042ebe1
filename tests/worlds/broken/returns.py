"""Broken in what they return: ends, tools, actions, observations, rewards."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from palaestra.envs.env import ToolEnv
from palaestra.envs.spaces import CallSpace
from palaestra.errors import EpisodeOverError
from palaestra.protocols import Action
from palaestra.records import Message, ToolCall
from palaestra.steps import StepRecord
from worlds.broken.late import LATE, Late, Reset, Stepped
from worlds.library import Member


class IntegerEnds(ToolEnv):
    def step(self, action: Action) -> Stepped:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, int(terminated), int(truncated), info  # type: ignore[return-value]


class SpoiltTools(ToolEnv):
    """Exports its tools after something was done to the last one."""

    def __init__(self, env_id: str, *, spoil: str, **kwargs: Any) -> None:
        super().__init__(env_id, **kwargs)
        self._spoil = spoil

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> Reset:
        observation, info = super().reset(seed=seed, options=options)
        tools: tuple[dict[str, Any], ...] = info["tools"]
        function, parameters = tools[-1]["function"], tools[-1]["function"]["parameters"]
        match self._spoil:
            case "repeated":
                function["name"] = tools[0]["function"]["name"]
            case "named":
                function["name"] = "give up!"
            case "described":
                function["description"] = ""
            case "argument":
                parameters["properties"]["reason"].pop("description")
            case "required":
                parameters["required"] = ["reason", "mood"]
            case _:
                parameters["properties"]["reason"]["pattern"] = "^a+$"
        return observation, info


class StraySamples(ToolEnv):
    def __init__(self, env_id: str, **kwargs: Any) -> None:
        super().__init__(env_id, **kwargs)
        cast("CallSpace", self.action_space)._by_name.pop("get_member", None)


class IllegalActions(ToolEnv):
    def legal_actions(self, count: int = 8, *, seed: int | None = None) -> list[Action]:
        del count
        return [{"tool": "get_member", "arguments": {"member_id": "MEM-404"}}]


class SleepsBeforeReset(ToolEnv):
    def step(self, action: Action) -> Stepped:
        if self._episode is None:
            return (), 0.0, False, False, {}
        return super().step(action)


class SleepsAfterEnd(ToolEnv):
    def step(self, action: Action) -> Stepped:
        try:
            return super().step(action)
        except EpisodeOverError:
            if self._episode is None:
                raise
            return (), 0.0, True, False, {}


class Endless(ToolEnv):
    """Never tires of empty turns; a walk has few enough of them not to notice."""

    def step(self, action: Action) -> Stepped:
        if action == []:
            self._running()
            return (), 0.0, False, False, {}
        return super().step(action)


class StrayMessages(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        changed: Any = tuple({**m, "role": "robot"} for m in observation)
        return changed, reward, terminated, truncated, info


class DatedMessages(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        changed: Any = tuple({**m, "at": self.episode.clock.now} for m in observation)
        return changed, reward, terminated, truncated, info


class OpaqueMessages(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        changed: Any = tuple({**m, "raw": m["content"].encode()} for m in observation)
        return changed, reward, terminated, truncated, info


class SpoiltReward(Late):
    """Spoils the reward of late turns."""

    def __init__(self, env_id: str, *, spoil: str, **kwargs: Any) -> None:
        super().__init__(env_id, **kwargs)
        self._spoil = spoil

    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        spoils = {
            "none": None,
            "huge": 1e9,
            "nan": float("nan"),
            "numpy": np.float64(reward),
            "bonus": reward + 1,
        }
        return observation, spoils[self._spoil], terminated, truncated, info  # type: ignore[return-value]


class SpoiltComponents(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        record: StepRecord = info["record"]
        points = record.standing.components
        standing = replace(record.standing, components={**points, "task": points["task"] + 1})
        return observation, reward, terminated, truncated, replace(record, standing=standing).info()


class SpoiltInfo(Late):
    def spoilt(self, stepped: Stepped) -> Stepped:
        observation, reward, terminated, truncated, info = stepped
        return observation, reward, terminated, truncated, {**info, "met": ("everything",)}


class Flattered(ToolEnv):
    """Pays the first criterion for talk, which no log of calls would show a rubric."""

    def _run(self, calls: tuple[ToolCall, ...]) -> list[Message]:
        messages = super()._run(calls)
        if any(call.tool == "reply" for call in calls):
            checklist = self.episode.checklist
            seen = checklist.snapshot()
            checklist.restore(replace(seen, counts=(True, *seen.counts[1:])))
        return messages


class WritesBesides(ToolEnv):
    """Lets time work on the rows, in no call."""

    def _run(self, calls: tuple[ToolCall, ...]) -> list[Message]:
        messages = super()._run(calls)
        if self.episode.turn >= LATE and self.episode.evidence.event.error is None:
            member = self.episode.state.find(Member)[0]
            self.episode.state.update(member, blocked=not member.blocked)
        return messages
