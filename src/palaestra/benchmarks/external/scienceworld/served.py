"""ScienceWorld as it is played: runs where scienceworld and Java are installed.

A task is one of the package's thirty and a variation of it. Actions are text, as the simulator reads it. The solution
is the package's own. Which variations there are is asked once, of one Java process, and kept in the folder of the
installation.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

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
from palaestra.benchmarks.external.scienceworld.simulator import TASKS, Simulator, simulator

SIMPLIFICATIONS = (
    "easy",
    "teleportAction",
    "selfWateringFlowerPots",
    "openContainers",
    "openDoors",
    "noElectricalAction",
)
MOST = 200
"""Characters of an action."""
RESET = "reset task"
BUDGET = 100
"""Turns, as the package allows; tasks whose solution is longer have more."""
LONGER: Mapping[str, int] = dict.fromkeys(
    (
        "boil",
        "melt",
        "freeze",
        "change-the-state-of-matter-of",
        "grow-fruit",
        "grow-plant",
        "inclined-plane-determine-angle",
        "inclined-plane-friction-named-surfaces",
        "inclined-plane-friction-unnamed-surfaces",
        "measure-melting-point-known-substance",
        "measure-melting-point-unknown-substance",
        "mendelian-genetics-known-plant",
        "mendelian-genetics-unknown-plant",
        "test-conductivity",
        "test-conductivity-of-unknown-substances",
    ),
    300,
)
"""Turns of tasks whose own solutions do not fit `BUDGET`."""
TOOL = tool("act", "Do something in the world.", {"action": {"type": "string", "maxLength": MOST}})
RULES = (
    "You are in a house with a kitchen, a workshop, a greenhouse and other places, and do an elementary science task. "
    "Give one action with each call of `act`. Forms of actions, where OBJ is an object that you see or know: {forms}. "
    "Where the answer says that a request is ambiguous, the next action is the number of your choice. `focus on` tells "
    "which object your result is; focus only on what the task names, since a wrong focus ends the task as failed."
)


class ScienceWorld:
    """The tasks.

    Args:
        simplifications: How the game is made easier, as the package takes it.
    """

    def __init__(self, simplifications: str) -> None:
        for name in filter(None, simplifications.split(",")):
            if name not in SIMPLIFICATIONS:
                raise ValueError(f"simplifications={name!r}: one of {', '.join(SIMPLIFICATIONS)}, or several by commas")
        self._simplifications = simplifications
        self._known: dict[str, dict[str, list[int]]] | None = None

    def version(self) -> str:
        """Of scienceworld."""
        return version("scienceworld")

    def tasks(self) -> list[WireTask]:
        """Every variation of every task."""
        return [
            _task(task, split, number)
            for task, splits in self._variations().items()
            for split, numbers in splits.items()
            for number in numbers
        ]

    def _variations(self) -> dict[str, dict[str, list[int]]]:
        if self._known is None:
            self._known = _read_kept(Path(sys.prefix).parent)
        return self._known

    def begin(self, task: str, seed: int) -> "ScienceWorldEpisode":
        """A variation; nothing in it is drawn."""
        del seed
        name, _, number = task.partition("/")
        if not number.isdecimal() or all(int(number) not in known for known in self._variations()[name].values()):
            raise KeyError(task)
        return ScienceWorldEpisode(name, int(number), self._simplifications)


def _read_kept(folder: Path) -> dict[str, dict[str, list[int]]]:
    """The variations, from a file where they were asked before."""
    file = folder / f"variations-{version('scienceworld')}.json"
    if not file.exists():
        with simulator() as asked:
            known = {task: asked.variations(task) for task in TASKS}
        written = file.with_name(f"{file.name}.{os.getpid()}")
        written.write_text(json.dumps(known))
        written.replace(file)
    kept: dict[str, dict[str, list[int]]] = json.loads(file.read_text())
    return kept


def _task(task: str, split: str, number: int) -> WireTask:
    return {
        "id": f"{task}/{number}",
        "category": task,
        "split": split,
        "max_turns": LONGER.get(task, BUDGET),
        "gold_calls": 0,
        "prompt": f"ScienceWorld {task}, variation {number}",
    }


class ScienceWorldEpisode:
    """One episode.

    Args:
        task: The package's name of it.
        variation: Which.
        simplifications: As the package takes them.
    """

    def __init__(self, task: str, variation: int, simplifications: str) -> None:
        self._which = (task, variation, simplifications)
        self._simulator = Simulator()
        self._first = self._simulator.load(task, variation, simplifications)
        self._done: list[str] = []
        self._score = self._simulator.score
        self._over = False

    def opening(self) -> WireOpening:
        """The task, and what is seen."""
        forms = ", ".join(f"`{form}`" for form in self._simulator.templates() if form != RESET)
        return {
            "messages": [
                {"role": "system", "content": RULES.format(forms=forms)},
                {"role": "user", "content": f"{self._simulator.description()}\n\n{self._first}"},
            ],
            "tools": [TOOL],
            "criteria": [{"id": "solved", "text": "the score is 100", "kind": "expect", "points": 100}],
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Do something for each call."""
        del prose
        results = run_until(lambda: self._over, self._act, calls)
        return reply(results, points=max(0, self._score), end="finished" if self._over else None)

    def _act(self, call: WireCall) -> WireResult:
        action = call["arguments"].get("action")
        if call["tool"] != "act":
            return refusal_result(f"there is no tool {call['tool']!r}; the only one is act", "unknown_tool")
        if not isinstance(action, str) or not action.strip() or len(action) > MOST or not action.isprintable():
            return refusal_result(f"action is one line of 1 to {MOST} characters", "invalid_arguments")
        action = " ".join(action.split())
        if action.lower() == RESET:
            return refusal_result("a task is attempted once", "not_allowed")
        seen = self._simulator.step(action)
        self._done.append(action)
        self._score, self._over = self._simulator.score, self._simulator.over
        return answer_result(seen)

    def verdict(self, end: str) -> WireVerdict:
        """The score."""
        del end
        passed = self._score >= 100
        return single(points=max(0, self._score), passed=passed, reason=f"score {self._score} of 100")

    def gold(self) -> list[WireTurn] | None:
        """The package's solution, made in a process of its own."""
        with simulator() as other:
            other.load(*self._which, gold=True)
            return [_turn(action) for action in other.gold()]

    def legal(self, draw: int) -> WireTurn | None:
        """An action that has an effect now."""
        valid = [action for action in self._simulator.valid() if action.lower() != RESET]
        return _turn(valid[draw % len(valid)] if valid else "look around")

    def state(self) -> str:
        """What was done so far: time passes with each action, and nothing is drawn, so this decides all."""
        return hashlib.sha256(json.dumps([self._which, self._done]).encode()).hexdigest()

    def close(self) -> None:
        """End its process."""
        self._simulator.close()


def _turn(action: str) -> WireTurn:
    return {"calls": [{"tool": "act", "arguments": {"action": action}}], "prose": ""}


def bench(options: Mapping[str, Any]) -> ScienceWorld:
    """The benchmark."""
    return ScienceWorld(str(options.get("simplifications") or ""))
