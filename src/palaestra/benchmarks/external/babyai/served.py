"""BabyAI as it is played: runs where minigrid is installed.

A task is a level and a seed. The view is told in words, relative to the agent. The solution is that of the package's
own bot. What is known of each task before it is played is kept in the folder of the installation, since the bot takes
some seconds for all of them.
"""

import contextlib
import hashlib
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.babyai.view import View
from palaestra.benchmarks.external.protocol import (
    WireCall,
    WireOpening,
    WireReply,
    WireResult,
    WireTask,
    WireTurn,
    WireVerdict,
    answer_result,
    refusal_result,
    reply,
    run_until,
    single,
    tool,
)

# Any: what is installed where this runs, and not where types are checked. Importing minigrid registers the levels.
GYM: Any = import_module("gymnasium")
CONSTANTS: Any = import_module("minigrid.core.constants")
BOT: Any = import_module("minigrid.utils.baby_ai_bot")
VIEW = View(CONSTANTS.IDX_TO_OBJECT, CONSTANTS.IDX_TO_COLOR)

LEVELS = (
    "GoToObj",
    "GoToRedBallGrey",
    "GoToRedBall",
    "GoToLocal",
    "PutNextLocal",
    "PickupLoc",
    "GoToObjMaze",
    "GoTo",
    "Pickup",
    "UnblockPickup",
    "Open",
    "Unlock",
    "PutNextS7N4",
    "Synth",
    "SynthLoc",
    "GoToSeq",
    "SynthSeq",
    "BossLevel",
)
SEEDS = {"test": range(1_000_000, 1_000_010), "train": range(20)}
ACTIONS = ("left", "right", "forward", "pickup", "drop", "toggle")
MOST = 20
TOOL = tool(
    "act",
    "Do one thing: turn `left` or `right` by 90 degrees; go `forward` by one cell; `pickup` the thing in front of you; "
    "`drop` what you carry into the empty cell in front of you; `toggle` the door or box in front of you, which opens "
    "or closes it, and unlocks a door if you carry the key of its colour.",
    {
        "action": {"type": "string", "enum": list(ACTIONS)},
        "times": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST,
            "description": "How often, 1 if not said; `forward` stops before an obstacle.",
        },
    },
    required=["action"],
)
RULES = (
    "You are in a grid of rooms with walls, doors, keys, balls and boxes. You see at most 6 cells ahead of you and 3 "
    "to each side, and nothing through walls and closed doors. Positions are relative to you: `2 ahead, 1 left` is "
    "two cells forward and one to the left. Things block your way; you reach a thing by standing right in front of it "
    "and facing it. You carry one thing at most. The task ends by itself when it is done."
)


class BabyAI:
    """The levels."""

    def __init__(self) -> None:
        self._tasks: list[WireTask] | None = None

    def version(self) -> str:
        """Of minigrid."""
        return version("minigrid")

    def tasks(self) -> list[WireTask]:
        """Every level with every seed."""
        if self._tasks is None:
            self._tasks = _read_kept(Path(sys.prefix).parent)
        return self._tasks

    def begin(self, task: str, seed: int) -> "BabyAILevel":
        """A level; its own seed is in its name."""
        del seed
        level, _, own = task.partition("/")
        if level not in LEVELS or not own.isdecimal():
            raise KeyError(task)
        return BabyAILevel(level, int(own))


def _read_kept(folder: Path) -> list[WireTask]:
    """The tasks, from a file where they were listed before under the same names and the same version."""
    names = json.dumps([version("minigrid"), LEVELS, {split: list(seeds) for split, seeds in SEEDS.items()}])
    file = folder / f"tasks-{hashlib.sha256(names.encode()).hexdigest()[:16]}.json"
    if not file.exists():
        tasks = [_task(level, split, seed) for level in LEVELS for split, seeds in SEEDS.items() for seed in seeds]
        written = file.with_name(f"{file.name}.{os.getpid()}")
        written.write_text(json.dumps(tasks))
        written.replace(file)
    kept: list[WireTask] = json.loads(file.read_text())
    return kept


def _task(level: str, split: str, seed: int) -> WireTask:
    session = BabyAILevel(level, seed)
    most, gold = session.most, session.gold()
    session.close()
    return {
        "id": f"{level}/{seed}",
        "category": level,
        "split": split,
        "max_turns": most,
        "gold_calls": len(gold),
        "prompt": f"BabyAI-{level}-v0 with seed {seed}",
    }


class BabyAILevel:
    """One episode."""

    def __init__(self, level: str, seed: int) -> None:
        self._name, self._seed = f"BabyAI-{level}-v0", seed
        self._env, self._seen = _make(self._name, seed)
        self._over = False
        self._won = False

    @property
    def most(self) -> int:
        """The level's own limit of steps."""
        return int(self._env.unwrapped.max_steps)

    def opening(self) -> WireOpening:
        """The instruction, and what is seen."""
        return {
            "messages": [
                {"role": "system", "content": RULES},
                {
                    "role": "user",
                    "content": f"Your task: {self._seen['mission']}.\n\n{VIEW.describe(self._seen['image'])}",
                },
            ],
            "tools": [TOOL],
            "criteria": [{"id": "solved", "text": "the instruction was carried out", "kind": "expect", "points": 100}],
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Act."""
        del prose
        results = run_until(lambda: self._over, self._act, calls)
        end = "finished" if self._won else "deadline" if self._over else None
        return reply(results, points=100 * self._won, end=end)

    def _act(self, call: WireCall) -> WireResult:
        action, times = call["arguments"].get("action"), call["arguments"].get("times", 1)
        if call["tool"] != "act":
            return refusal_result(f"there is no tool {call['tool']!r}; the only one is act", "unknown_tool")
        if action not in ACTIONS:
            return refusal_result(f"action is one of {', '.join(ACTIONS)}", "invalid_arguments")
        if type(times) is not int or not 1 <= times <= MOST:
            return refusal_result(f"times is a whole number from 1 to {MOST}", "invalid_arguments")
        return self._repeat(action, times)

    def _repeat(self, action: str, times: int) -> WireResult:
        said = ""
        for done in range(times):
            before = self._show()
            self._seen, reward, terminated, truncated, _ = self._env.step(ACTIONS.index(action))
            self._over, self._won = terminated or truncated, terminated and reward > 0
            if self._show() == before and not self._over:
                said = f"Nothing happens{f' after {done} times' if done else ''}.\n"
                break
            if self._over:
                break
        if self._over:
            said = "The task is done.\n" if self._won else "The task has ended, and is not done.\n"
        return answer_result(said + VIEW.describe(self._seen["image"]))

    def _show(self) -> tuple[bytes, int, int, int]:
        """What changes when an action has an effect."""
        world = self._env.unwrapped
        x, y = (int(p) for p in world.agent_pos)
        return self._seen["image"].tobytes(), x, y, int(world.agent_dir)

    def verdict(self, end: str) -> WireVerdict:
        """Whether the instruction was carried out."""
        del end
        reason = "carried out" if self._won else "not carried out"
        return single(points=100 * self._won, passed=self._won, reason=reason)

    def gold(self) -> list[WireTurn]:
        """What the package's bot does, in an episode of its own."""
        env, _ = _make(self._name, self._seed)
        bot, turns, over, last = BOT.BabyAIBot(env.unwrapped), list[WireTurn](), False, None
        while not over:
            last = bot.replan(last)
            turns.append(_turn(ACTIONS[int(last)]))
            _, _, terminated, truncated, _ = env.step(last)
            over = terminated or truncated
        env.close()
        return turns

    def legal(self, draw: int) -> WireTurn | None:
        """Any action, once."""
        return _turn(ACTIONS[draw % len(ACTIONS)])

    def state(self) -> str:
        """The grid, where the agent stands, what they carry, how far the instruction is carried out, and the time."""
        world = self._env.unwrapped
        grid = hashlib.sha256(world.grid.encode().tobytes()).hexdigest()
        hidden = [thing.contains.type for thing in world.grid.grid if thing is not None and thing.contains is not None]
        carried = [world.carrying.type, world.carrying.color] if world.carrying else None
        place = [*(int(p) for p in world.agent_pos), int(world.agent_dir)]
        return json.dumps([grid, hidden, carried, place, list(_progress(world.instrs)), world.step_count])

    def close(self) -> None:
        """Free it."""
        self._env.close()


def _make(name: str, seed: int) -> tuple[Any, Any]:
    """A level at its start, and what is seen. The package prints each draw that it discards."""
    env: Any = GYM.make(name, disable_env_checker=True)
    with contextlib.redirect_stdout(io.StringIO()):
        seen, _ = env.reset(seed=seed)
    return env, seen


def _progress(instruction: Any) -> Iterator[Any]:
    """Which parts of an instruction are done, in order."""
    for name in ("a_done", "b_done"):
        if hasattr(instruction, name):
            yield getattr(instruction, name)
    for name in ("instr_a", "instr_b"):
        if hasattr(instruction, name):
            yield from _progress(getattr(instruction, name))


def _turn(action: str) -> WireTurn:
    return {"calls": [{"tool": "act", "arguments": {"action": action}}], "prose": ""}


def bench(options: Mapping[str, Any]) -> BabyAI:
    """The benchmark."""
    del options
    return BabyAI()
