"""TextWorld as it is played: runs where textworld is installed.

A task is a kind of game and a seed. Commands are free text, as the game reads them; those that speak to the
interpreter and not to the game (saving, undoing, leaving) are refused. The solution is the package's walkthrough.
"""

import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
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
from palaestra.benchmarks.external.textworld.games import KINDS, SEEDS, GameKind, make_game

# Any: what is installed where this runs, and not where types are checked.
TEXTWORLD: Any = import_module("textworld")

MOST = 200
"""Characters of a command; the interpreter reads no more."""
META = frozenset(
    {
        "abstract",
        "actions",
        "again",
        "brief",
        "g",
        "normal",
        "noscript",
        "notify",
        "o",
        "oops",
        "pronouns",
        "purloin",
        "q",
        "quit",
        "random",
        "recording",
        "replay",
        "restart",
        "restore",
        "rules",
        "save",
        "script",
        "showme",
        "superbrief",
        "test",
        "trace",
        "transcript",
        "undo",
        "unscript",
        "verbose",
        "verify",
        "version",
    }
)
"""First words of commands to the interpreter, which would write files, end it, or leave the game's record behind."""
TOOL = tool("act", "Type a command into the game.", {"command": {"type": "string", "maxLength": MOST}})
RULES = (
    "You play a text adventure. The game reads short commands such as `look`, `inventory`, `go north`, `open chest`, "
    "`take key from chest`, `unlock door with key`, `put apple on stove`, `examine table`, `cook carrot with oven`, "
    "`chop carrot with knife`, `prepare meal` and `eat meal`. Give one command with each call of `act`."
)


class TextWorld:
    """The games.

    Args:
        admissible: Whether an answer lists the commands that the game takes now.
        folder: Where games are kept.
    """

    def __init__(self, *, admissible: bool, folder: Path) -> None:
        self._admissible = admissible
        self._folder = folder

    def version(self) -> str:
        """Of textworld."""
        return version("textworld")

    def tasks(self) -> list[WireTask]:
        """Every kind with every seed."""
        return [_task(kind, split, seed) for kind in KINDS.values() for split, seeds in SEEDS.items() for seed in seeds]

    def begin(self, task: str, seed: int) -> "TextWorldGame":
        """A game; its own seed is in its name."""
        del seed
        name, _, own = task.partition("/")
        for split, seeds in SEEDS.items():
            if own.isdecimal() and int(own) in seeds:
                return TextWorldGame(make_game(KINDS[name], split, int(own), self._folder), admissible=self._admissible)
        raise KeyError(task)


def _task(kind: GameKind, split: str, seed: int) -> WireTask:
    return {
        "id": f"{kind.name}/{seed}",
        "category": kind.name,
        "split": split,
        "max_turns": kind.max_turns,
        "gold_calls": kind.length,
        "prompt": f"TextWorld {kind.challenge} {json.dumps(kind.of(split), sort_keys=True)} with seed {seed}",
    }


class TextWorldGame:
    """One episode.

    Args:
        file: The game's.
        admissible: Whether an answer lists the commands that the game takes now.
    """

    def __init__(self, file: Path, *, admissible: bool) -> None:
        self._admissible = admissible
        wanted = TEXTWORLD.EnvInfos(
            objective=True, admissible_commands=True, score=True, max_score=True, extras=["walkthrough"]
        )
        self._env: Any = TEXTWORLD.start(str(file), wanted)
        self._env.unwrapped.seed(0)
        self._state: Any = self._env.reset()
        self._walkthrough: list[str] = list(self._state["extra.walkthrough"])
        self._most = int(self._state["max_score"])
        self._over = False

    def opening(self) -> WireOpening:
        """What the game says at its start."""
        text = _clean(self._state["feedback"])
        objective = str(self._state["objective"]).strip()
        start = text[text.rfind("-= ") :] if "-= " in text else text
        return {
            "messages": [
                {"role": "system", "content": RULES},
                {"role": "user", "content": self._describe(f"{objective}\n\n{start}".strip())},
            ],
            "tools": [TOOL],
            "criteria": [{"id": "won", "text": "the game was won", "kind": "expect", "points": 100}],
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Give the game a command for each call."""
        del prose
        results = run_until(lambda: self._over, self._act, calls)
        return reply(results, points=self._points(), end="finished" if self._over else None)

    def _act(self, call: WireCall) -> WireResult:
        command = call["arguments"].get("command")
        if call["tool"] != "act":
            return refusal_result(f"there is no tool {call['tool']!r}; the only one is act", "unknown_tool")
        if not isinstance(command, str) or not command.strip() or len(command) > MOST:
            return refusal_result(f"command is a text of 1 to {MOST} characters", "invalid_arguments")
        if not (command.isascii() and command.isprintable()):
            return refusal_result("command is one line of plain letters", "invalid_arguments")
        if any(part.split()[0] in META or part.startswith("tw-") for part in _parts(command)):
            return refusal_result("that is no command of this game", "not_allowed")
        self._state, _, self._over = self._env.step(command)
        return answer_result(self._describe(_clean(self._state["feedback"])))

    def _describe(self, text: str) -> str:
        if not self._admissible or self._over:
            return text
        return f"{text}\n\nCommands that the game takes now: {'; '.join(self._state['admissible_commands'])}"

    def _points(self) -> int:
        return max(0, 100 * int(self._state["score"] or 0) // self._most) if self._most else 100 * self._is_won()

    def _is_won(self) -> bool:
        return bool(self._state["won"])

    def verdict(self, end: str) -> WireVerdict:
        """The game's score, and whether it was won."""
        del end
        reason = f"score {int(self._state['score'] or 0)} of {self._most}"
        return single(points=self._points(), passed=self._is_won(), reason=reason, criterion="won")

    def gold(self) -> list[WireTurn] | None:
        """The walkthrough."""
        return [_turn(command) for command in self._walkthrough]

    def legal(self, draw: int) -> WireTurn | None:
        """A command that the game takes now."""
        commands = self._state["admissible_commands"]
        return _turn(commands[draw % len(commands)]) if commands else _turn("look")

    def state(self) -> str:
        """What holds in the game, and the score."""
        facts = "\n".join(sorted(map(str, self._state["_facts"])))
        return json.dumps([hashlib.sha256(facts.encode()).hexdigest(), self._state["score"], self._over])

    def close(self) -> None:
        """Free it."""
        self._env.close()


def _parts(command: str) -> list[str]:
    """The commands that the game reads in one line."""
    parts = re.split(r"[.,;]|\bthen\b|\band\b", command.lower())
    return [part.strip() for part in parts if part.strip()]


def _clean(text: str) -> str:
    """Feedback without the interpreter's prompt, the status line after it, and runs of empty lines."""
    text = re.sub(r"\n>[^\n]*\Z", "", str(text).rstrip())
    return re.sub(r"\n\s*\n\s*\n+", "\n\n", text).strip()


def _turn(command: str) -> WireTurn:
    return {"calls": [{"tool": "act", "arguments": {"command": command}}], "prose": ""}


def bench(options: Mapping[str, Any]) -> TextWorld:
    """The benchmark; games are kept beside its virtual environment."""
    return TextWorld(admissible=bool(options.get("admissible")), folder=Path(sys.prefix).parent / "games")
