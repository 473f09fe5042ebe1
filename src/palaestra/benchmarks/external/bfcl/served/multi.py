"""Multi-turn tasks: the user speaks several times, and the agent calls functions until it answers with words.

What an agent did is compared with the package's own calls at the end of each of the user's turns: the public
attributes of both players' instances have to be equal, and all that the package's calls of this turn showed has to be
among what the agent was shown so far. Both comparisons are the package's functions.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from palaestra.benchmarks.external.bfcl.served.gold import parse_call
from palaestra.benchmarks.external.bfcl.served.package import MULTI_TURN, PROMPTS
from palaestra.benchmarks.external.bfcl.served.schema import tool_of
from palaestra.benchmarks.external.bfcl.served.worlds import BfclInstances
from palaestra.benchmarks.external.protocol import (
    WireCall,
    WireCheck,
    WireCriterion,
    WireMessage,
    WireOpening,
    WireReply,
    WireResult,
    WireTurn,
    WireVerdict,
    reply,
)

STEPS: int = PROMPTS.MAXIMUM_STEP_LIMIT
"""Turns with calls that an agent may take in one turn of the user's; with one more, the package quits."""
_ABSTAINED = "abstained"


class MultiTurn:
    """One episode.

    Args:
        entry: The task with hints, as the package loads it. Any: JSON.
        answer: For each of the user's turns, the package's calls as text.
    """

    def __init__(self, entry: Mapping[str, Any], answer: Sequence[Sequence[str]]) -> None:
        self._questions: list[list[WireMessage]] = entry["question"]
        self._functions = list(entry["function"])
        self._held: Mapping[str, list[Any]] = entry.get("missed_function", {})
        self._mine, self._theirs = BfclInstances(entry), BfclInstances(entry)
        self._gold = [[parse_call(text, self._theirs.parameters) for text in calls] for calls in answer]
        self._shown: list[str] = []
        self._checks: list[WireCheck] = []
        self._abstained = True
        self._over = False
        self._trace = hashlib.sha256()
        self._begin(0)

    def _begin(self, turn: int) -> None:
        """Begin a turn of the user's: the package's calls are made at once, for the comparison at its end."""
        self._turn, self._steps = turn, 0
        self._expected = [self._theirs.call(call["tool"], call["arguments"])[0] for call in self._gold[turn]]
        self._functions += self._held.get(str(turn), [])

    def opening(self) -> WireOpening:
        """What the user says first, and the functions but for those that are held back."""
        return {
            "messages": self._messages(),
            "tools": self._tools(),
            "criteria": self._criteria(),
            "prose": True,
        }

    def _messages(self) -> list[WireMessage]:
        """What the user says in this turn; where a function held back is revealed, the package's words for that."""
        if self._held.get(str(self._turn)):
            return [{"role": "user", "content": PROMPTS.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC}]
        return [{"role": said["role"], "content": said["content"]} for said in self._questions[self._turn]]

    def _tools(self) -> list[dict[str, Any]]:
        return [tool_of(function) for function in self._functions]

    def _criteria(self) -> list[WireCriterion]:
        count = len(self._gold)
        criteria: list[WireCriterion] = [
            {
                "id": f"turn-{turn}",
                "text": "state and answers are those of the package's calls" if calls else "nothing is compared",
                "kind": "expect",
                "points": 100 * (turn + 1) // count - 100 * turn // count,
            }
            for turn, calls in enumerate(self._gold)
        ]
        if not all(self._gold):
            text = "nothing was called where the package calls nothing; told, and not counted"
            criteria.append({"id": _ABSTAINED, "text": text, "kind": "expect", "points": 0})
        return criteria

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Call functions; a turn without a call ends the user's."""
        del prose
        self._trace.update(json.dumps([self._turn, list(calls)], sort_keys=True).encode())
        if not calls:
            return self._next()
        results = [self._call(call) for call in calls]
        self._steps += 1
        self._abstained = self._abstained and bool(self._gold[self._turn])
        if self._steps <= STEPS:
            return reply(results)
        self._close()
        return reply(results, points=self._points(), end="deadline")

    def _call(self, call: WireCall) -> WireResult:
        shown, error = self._mine.call(call["tool"], call["arguments"])
        self._shown.append(shown)
        return {"content": shown, "error": error}

    def _next(self) -> WireReply:
        if self._turn + 1 == len(self._gold):
            self._close()
            return reply(points=self._points(), end="finished")
        self._checks.append(self._check())
        self._begin(self._turn + 1)
        tools = self._tools() if self._held.get(str(self._turn)) else None
        return reply(messages=self._messages(), tools=tools)

    def _close(self) -> None:
        self._checks.append(self._check())
        self._over = True

    def _check(self) -> WireCheck:
        """How the user's turn stands, as the package compares it."""
        if not self._gold[self._turn]:
            return {"met": True, "reason": "the package calls nothing in this turn, and compares nothing"}
        if not self._steps:
            return {"met": False, "reason": "nothing was called"}
        try:
            found = MULTI_TURN.state_checker(self._mine.instances, self._theirs.instances)
        except RecursionError:
            return {"met": False, "reason": "a directory was put into itself"}
        if not found["valid"]:
            names = ", ".join(found["details"]["differences"])
            return {"met": False, "reason": f"{found['error_message']} Attributes: {names}"[:500]}
        found = MULTI_TURN.response_checker(self._shown, self._expected, self._turn)
        if not found["valid"]:
            lacking = json.dumps(found["details"]["missing_items"])
            return {"met": False, "reason": f"{found['error_message']} Lacking: {lacking}"[:500]}
        return {"met": True, "reason": "state and answers agree"}

    def _points(self) -> int:
        return self.verdict("")["points"]

    def verdict(self, end: str) -> WireVerdict:
        """All or nothing. A turn that is open counts as it stands; one that was never begun fails."""
        del end
        checks = [*self._checks, *([] if self._over else [self._check()])]
        never: WireCheck = {"met": False, "reason": "the turn was never begun"}
        checks += [never] * (len(self._gold) - len(checks))
        passed = all(check["met"] for check in checks)
        criteria = {f"turn-{turn}": check for turn, check in enumerate(checks)}
        if not all(self._gold):
            criteria[_ABSTAINED] = {"met": self._abstained, "reason": "as the agent called"}
        return {"points": 100 * passed, "passed": passed, "criteria": criteria}

    def gold(self) -> list[WireTurn] | None:
        """The package's calls, all of a user's turn at once, and then no word."""
        turns = list[WireTurn]()
        for calls in self._gold:
            if calls:
                turns.append({"calls": calls, "prose": ""})
            turns.append({"calls": [], "prose": ""})
        return turns

    def legal(self, draw: int) -> WireTurn | None:
        """Any call; now and then words, so that the user goes on."""
        return {"calls": [], "prose": "Done."} if draw % 4 == 0 else None

    def state(self) -> str:
        """A hash of all calls so far: what has been shown decides the score as much as what stands in the instances."""
        return f"{self._turn} {self._steps} {self._over} {self._trace.hexdigest()}"

    def close(self) -> None:
        """Nothing is held."""
