"""ALFWorld as it is played: runs where alfworld and the planner are installed.

A task is one of six types with a seed, made here, or an official game. Commands are text, as the game reads it. The
solution of a game made here is our own, that of an official one the planner's.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.alfworld.official import game, games, root
from palaestra.benchmarks.external.alfworld.problem import Problem
from palaestra.benchmarks.external.alfworld.reuse import find_plan, free_library, reuse_work
from palaestra.benchmarks.external.alfworld.rooms import TYPES, chore
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

# Any: what is installed where this runs, and not where types are checked.
CORE: Any = import_module("textworld.core")
PDDL: Any = import_module("textworld.envs.pddl.pddl")
MISC: Any = import_module("alfworld.agents.utils.misc")

SEEDS = {
    "generated-test": range(1_000_000, 1_000_020),
    "generated-dev": range(500_000, 500_010),
    "generated-train": range(250),
}
BUDGET = 50
"""Turns, as the published agents have."""
MOST = 200
"""Characters of a command."""
_COMMAND = {"type": "string", "maxLength": MOST, "description": "Things have names such as cabinet 2."}
TOOL = tool("act", "Type a command into the game.", {"command": _COMMAND})
RULES = (
    "You do a chore in a room. Give one command with each call of `act`. Commands: `look`, `inventory`, "
    "`go to (receptacle)`, `open (receptacle)`, `close (receptacle)`, `take (object) from (receptacle)`, "
    "`move (object) to (receptacle)`, `examine (something)`, `use (object)`, `heat (object) with (receptacle)`, "
    "`clean (object) with (receptacle)`, `cool (object) with (receptacle)`, `slice (object) with (object)`. Things "
    "have names of a word and a number. You carry one thing at most."
)


class ALFWorld:
    """The games.

    Args:
        folder: Of the official games; `None` where the user has none.
        admissible: Whether an answer lists the commands that the game takes now.
    """

    def __init__(self, folder: Path | None, *, admissible: bool) -> None:
        self._folder = folder
        self._admissible = admissible

    def version(self) -> str:
        """Of alfworld."""
        return version("alfworld")

    def tasks(self) -> list[WireTask]:
        """Those made here, then the official ones."""
        made = [_make(job, split, seed) for job in TYPES for split, seeds in SEEDS.items() for seed in seeds]
        official = list(games(self._folder)) if self._folder else []
        return [*made, *(_official(split, job, id) for split, job, id in official)]

    def begin(self, task: str, seed: int) -> "ALFWorldGame":
        """A game; its own seed is in its name."""
        del seed
        kind, _, name = task.partition("/")
        if kind.startswith("generated-"):
            job = kind.removeprefix("generated-")
            split = next((split for split, seeds in SEEDS.items() if name.isdecimal() and int(name) in seeds), None)
            if job not in TYPES or split is None:
                raise KeyError(task)
            problem = Problem(chore(job, split, int(name)), int(name))
            return ALFWorldGame(problem.game(), problem, admissible=self._admissible)
        if self._folder is None:
            raise KeyError(task)
        split, _, id = name.partition(".")
        return ALFWorldGame(json.loads(game(self._folder, split, id).read_text()), None, admissible=self._admissible)


def _make(job: str, split: str, seed: int) -> WireTask:
    problem = Problem(chore(job, split, seed), seed)
    return {
        "id": f"generated-{job}/{seed}",
        "category": f"generated-{job}",
        "split": split,
        "max_turns": BUDGET,
        "gold_calls": len(problem.solution()),
        "prompt": f"ALFWorld, made here: {job} with seed {seed}: {problem.wording}",
    }


def _official(split: str, job: str, id: str) -> WireTask:
    return {
        "id": f"{job}/{split}.{id}",
        "category": job,
        "split": split,
        "max_turns": BUDGET,
        "gold_calls": 0,
        "prompt": f"ALFWorld {split} {id}",
    }


def _env(data: Mapping[str, Any]) -> Any:
    """A game as the package plays it, before its first state."""
    env: Any = PDDL.PddlEnv(CORE.EnvInfos(admissible_commands=True))
    env.load(data)
    names = MISC.Demangler(game_infos=env._entity_infos)  # as the package's own wrapper does
    for info in env._entity_infos.values():
        info.name = names.demangle_alfred_name(info.id)
    return env


class ALFWorldGame:
    """One episode.

    Args:
        data: The game, as the package loads it.
        problem: How it was made; `None` for an official one.
        admissible: Whether an answer lists the commands that the game takes now.
    """

    def __init__(self, data: Mapping[str, Any], problem: Problem | None, *, admissible: bool) -> None:
        self._data, self._problem, self._admissible = data, problem, admissible
        self._env = _env(data)
        self._state: Any = self._env.reset()
        self._won = False

    def opening(self) -> WireOpening:
        """What the game says at its start, with the task at its end."""
        text = str(self._state["feedback"]).replace("-= Welcome to TextWorld, ALFRED! =-", "").strip()
        return {
            "messages": [{"role": "system", "content": RULES}, {"role": "user", "content": self._describe(text)}],
            "tools": [TOOL],
            "criteria": [{"id": "won", "text": "the chore was done", "kind": "expect", "points": 100}],
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Give the game a command for each call."""
        del prose
        results = run_until(lambda: self._won, self._act, calls)
        return reply(results, points=100 * self._won, end="finished" if self._won else None)

    def _act(self, call: WireCall) -> WireResult:
        command = call["arguments"].get("command")
        if call["tool"] != "act":
            return refusal_result(f"there is no tool {call['tool']!r}; the only one is act", "unknown_tool")
        if not isinstance(command, str) or not command.strip() or len(command) > MOST or not command.isprintable():
            return refusal_result(f"command is one line of 1 to {MOST} characters", "invalid_arguments")
        self._state, _, done = self._env.step(" ".join(command.split()).lower())
        self._won = bool(done)
        return answer_result(self._describe(str(self._state["feedback"]).strip()))

    def _describe(self, text: str) -> str:
        if not self._admissible or self._won:
            return text
        return f"{text}\n\nCommands that the game takes now: {'; '.join(self._commands())}"

    def _commands(self) -> list[str]:
        return sorted(map(str, self._state["admissible_commands"]))

    def verdict(self, end: str) -> WireVerdict:
        """Whether the chore was done."""
        del end
        reason = "the goal holds" if self._won else "the goal does not hold"
        return single(points=100 * self._won, passed=self._won, reason=reason, criterion="won")

    def gold(self) -> list[WireTurn] | None:
        """Our plan where the game was made here, and the planner's else."""
        if self._problem is None:
            return [_turn(str(command)) for command in _plan(self._data)]
        names = {id: info.name for id, info in self._env._entity_infos.items()}
        return [_turn(" ".join(names.get(part, part) for part in step)) for step in self._problem.solution()]

    def legal(self, draw: int) -> WireTurn | None:
        """A command that the game takes now."""
        commands = self._commands()
        return _turn(commands[draw % len(commands)])

    def state(self) -> str:
        """What holds in the game."""
        facts = "\n".join(sorted(map(str, self._state["_facts"])))
        return hashlib.sha256(facts.encode()).hexdigest()

    def close(self) -> None:
        """Free it."""
        self._env.close()
        free_library(self._env.downward_lib)


def _plan(data: Mapping[str, Any]) -> list[str]:
    """The planner's solution of a game, from its beginning."""
    env = _env(data)
    env.reset()
    commands = find_plan(env)
    free_library(env.downward_lib)
    return commands


def _turn(command: str) -> WireTurn:
    return {"calls": [{"tool": "act", "arguments": {"command": command}}], "prose": ""}


def bench(options: Mapping[str, Any]) -> ALFWorld:
    """The benchmark.

    Raises:
        ValueError: the folder that was named holds no games.
    """
    reuse_work()
    return ALFWorld(root(str(options.get("games") or "")), admissible=bool(options.get("admissible")))
