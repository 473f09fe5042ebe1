"""BabyAI as it is played: runs where minigrid is installed.

Three kinds of each level family are listed; a task is a level and a seed. The view is told in words, relative to the
agent. The solution is that of the package's own bot.
"""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from typing import Any

import gymnasium as gym

from palaestra.benchmarks.external.protocol import (
    WireCall,
    WireOpening,
    WireReply,
    WireTask,
    WireTurn,
    WireVerdict,
    answered,
    refused,
    reply,
    single,
    tool,
)

# Any: what is installed where this runs, and not where types are checked. Importing minigrid registers the levels.
CONSTANTS: Any = import_module("minigrid.core.constants")
BOT: Any = import_module("minigrid.utils.baby_ai_bot")
_KIND: Mapping[int, str] = CONSTANTS.IDX_TO_OBJECT
_COLOUR: Mapping[int, str] = CONSTANTS.IDX_TO_COLOR

LEVELS = ("GoToLocal", "GoTo", "Open", "Pickup", "PutNextLocal", "Unlock", "GoToSeq", "Synth", "BossLevel")
SEEDS = {"train": range(20), "test": range(1_000_000, 1_000_010)}
ACTIONS = ("left", "right", "forward", "pickup", "drop", "toggle", "done")
TOOL = tool(
    "act",
    "Turn left or right, go forward, pick up or drop what is before you, or toggle (open, close, unlock) it.",
    {"action": {"type": "string", "enum": list(ACTIONS)}},
)


class BabyAI:
    """The levels."""

    def version(self) -> str:
        """Of minigrid."""
        return version("minigrid")

    def tasks(self) -> list[WireTask]:
        """Every level with every seed."""
        return [_task(level, split, seed) for level in LEVELS for split, seeds in SEEDS.items() for seed in seeds]

    def begin(self, task: str, seed: int) -> "Level":
        """A level; its own seed is in its name."""
        del seed
        level, _, own = task.partition("/")
        return Level(level, int(own))


def _task(level: str, split: str, seed: int) -> WireTask:
    return {
        "id": f"{level}/{seed}",
        "category": level,
        "split": split,
        "max_turns": 128,
        "gold_calls": 0,
        "prompt": f"BabyAI-{level}-v0 with seed {seed}",
    }


class Level:
    """One episode."""

    def __init__(self, level: str, seed: int) -> None:
        self._name, self._seed = f"BabyAI-{level}-v0", seed
        self._env: Any = gym.make(self._name, disable_env_checker=True)
        self._seen, _ = self._env.reset(seed=seed)
        self._over = False
        self._won = False

    def opening(self) -> WireOpening:
        """The instruction, and what is seen."""
        return {
            "messages": [
                {"role": "system", "content": "You walk in a grid world, and see what lies before you."},
                {"role": "user", "content": f"Your task: {self._seen['mission']}.\n{self._view()}"},
            ],
            "tools": [TOOL],
            "criteria": [{"id": "solved", "text": "the instruction was carried out", "kind": "expect", "points": 100}],
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Act."""
        del prose
        results = [self._acted(call) for call in calls]
        return reply(results, points=100 * self._won, end="finished" if self._over else None)

    def _acted(self, call: WireCall) -> Any:
        action = call["arguments"].get("action")
        if call["tool"] != "act" or action not in ACTIONS:
            return refused(f"act takes an action, one of {', '.join(ACTIONS)}", "invalid_arguments")
        if self._over:
            return refused("it is over", "over")
        self._seen, reward, terminated, truncated, _ = self._env.step(ACTIONS.index(action))
        self._over, self._won = terminated or truncated, terminated and reward > 0
        return answered(self._view())

    def _view(self) -> str:
        image, seen = self._seen["image"], list[str]()
        width, depth, _ = image.shape
        for x in range(width):
            for y in range(depth):
                kind, colour, state = image[x, y]
                name = _KIND[int(kind)]
                if name in ("unseen", "empty", "wall", "floor") or (x, y) == (width // 2, depth - 1):
                    continue
                word = f"{_COLOUR[int(colour)]} {name}" + (
                    f" ({('open', 'closed', 'locked')[int(state)]})" if name == "door" else ""
                )
                seen.append(f"{word} {_where(x - width // 2, depth - 1 - y)}")
        ahead = _KIND[int(image[width // 2, depth - 2, 0])]
        held = image[width // 2, depth - 1]
        carried = _KIND[int(held[0])]
        hand = "nothing" if carried in ("empty", "unseen") else f"a {_COLOUR[int(held[1])]} {carried}"
        return f"You see: {'; '.join(seen) or 'nothing'}. Before you: {ahead}. You carry {hand}."

    def verdict(self, end: str) -> WireVerdict:
        """Whether the instruction was carried out."""
        del end
        reason = "carried out" if self._won else "not carried out"
        return single(points=100 * self._won, passed=self._won, reason=reason)

    def gold(self) -> list[WireTurn] | None:
        """What the package's bot does."""
        env: Any = gym.make(self._name, disable_env_checker=True)
        env.reset(seed=self._seed)
        bot, turns, over, last = BOT.BabyAIBot(env), list[WireTurn](), False, None
        while not over:
            last = bot.replan(last)
            turns.append(_turn(ACTIONS[int(last)]))
            _, _, terminated, truncated, _ = env.step(last)
            over = terminated or truncated
        return turns

    def legal(self, draw: int) -> WireTurn | None:
        """Any action."""
        return _turn(ACTIONS[draw % len(ACTIONS)])

    def state(self) -> str:
        """The grid, and where the agent stands."""
        world = self._env.unwrapped
        grid = world.grid.encode().tolist()
        return json.dumps([grid, [int(p) for p in world.agent_pos], int(world.agent_dir), world.step_count])

    def close(self) -> None:
        """Free it."""
        self._env.close()


def _turn(action: str) -> WireTurn:
    return {"calls": [{"tool": "act", "arguments": {"action": action}}], "prose": ""}


def _where(right: int, ahead: int) -> str:
    side = f"{abs(right)} {'right' if right > 0 else 'left'}" if right else ""
    return ", ".join(filter(None, [f"{ahead} ahead" if ahead else "", side]))


def bench(options: Mapping[str, Any]) -> BabyAI:
    """The benchmark."""
    del options
    return BabyAI()
