"""Single-turn tasks: one turn, whose calls are judged and not executed."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from palaestra.benchmarks.external.bfcl.served.gold import choose_calls
from palaestra.benchmarks.external.bfcl.served.package import AST, ENUMS, MODEL
from palaestra.benchmarks.external.bfcl.served.schema import checked_name, tool_name, tool_of
from palaestra.benchmarks.external.protocol import (
    WireCall,
    WireOpening,
    WireReply,
    WireResult,
    WireTurn,
    WireVerdict,
    answer_result,
    refusal_result,
    reply,
    single,
)

RELEVANCE = {"irrelevance": False, "live_irrelevance": False, "live_relevance": True}
"""By category: whether a call is what is asked for, whichever it is."""
_LANGUAGES = {"simple_java": ENUMS.Language.JAVA, "simple_javascript": ENUMS.Language.JAVASCRIPT}
_SOLVED = {
    False: "no function was called, since none fits the request",
    True: "a function was called, whichever it was",
    None: "the right functions were called, with accepted arguments",
}


class SingleTurn:
    """One episode.

    Args:
        category: Of the task.
        entry: The task with hints of its language, as models are to read it. Any: JSON.
        functions: Its functions without hints, as the checker is to read them.
        answer: The accepted calls; `None` where a call as such is judged.
    """

    def __init__(
        self,
        category: str,
        entry: Mapping[str, Any],
        functions: Sequence[Mapping[str, Any]],
        answer: Sequence[Mapping[str, Any]] | None,
    ) -> None:
        self._category, self._functions, self._answer = category, functions, answer
        self._messages = entry["question"][0]
        self._tools = [tool_of(function) for function in entry["function"]]
        self._names = {tool_name(each["name"]): checked_name(each["name"]) for each in functions}
        self._calls: list[WireCall] = []
        self._over = False

    def opening(self) -> WireOpening:
        """The conversation so far, and the functions."""
        text = _SOLVED[RELEVANCE.get(self._category)]
        return {
            "messages": [{"role": message["role"], "content": message["content"]} for message in self._messages],
            "tools": self._tools,
            "criteria": [{"id": "solved", "text": text, "kind": "expect", "points": 100}],
            "prose": True,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Take the one turn."""
        del prose
        self._calls, self._over = list(calls), True
        return reply([self._note(call["tool"]) for call in calls], points=self._points(), end="finished")

    def _note(self, tool: str) -> WireResult:
        if tool in self._names:
            return answer_result("The call was noted.")
        return refusal_result("The call was noted. There is no such function.", "unknown_tool")

    def _points(self) -> int:
        return self.verdict("")["points"]

    def verdict(self, end: str) -> WireVerdict:
        """The package's judgement of the calls; an episode without a turn is one without a call."""
        del end
        passed, reason = self._judge()
        return single(points=100 * passed, passed=passed, reason=reason)

    def _judge(self) -> tuple[bool, str]:
        asked = RELEVANCE.get(self._category)
        if asked is not None:
            return bool(self._calls) == asked, f"{len(self._calls)} calls"
        written = [{self._names.get(call["tool"], call["tool"]): call["arguments"]} for call in self._calls]
        language = _LANGUAGES.get(self._category, ENUMS.Language.PYTHON)
        try:
            found = AST.ast_checker(self._functions, written, self._answer, language, self._category, MODEL)
        except Exception as error:
            return False, f"the checker cannot read the calls: {type(error).__name__}: {error}"
        return bool(found["valid"]), "as accepted" if found["valid"] else _why(found)

    def gold(self) -> list[WireTurn] | None:
        """Accepted calls; words where none is to be made. Which calls fit where any does, nobody says."""
        asked = RELEVANCE.get(self._category)
        if asked is None:
            return [{"calls": choose_calls(self._category, self._functions, self._answer or []), "prose": ""}]
        return None if asked else [{"calls": [], "prose": "None of the functions can do this."}]

    def legal(self, draw: int) -> WireTurn | None:
        """Any call; words where there is no function."""
        del draw
        return None if self._tools else {"calls": [], "prose": "None of the functions can do this."}

    def state(self) -> str:
        """The calls that were made."""
        return json.dumps([self._over, self._calls], sort_keys=True)

    def close(self) -> None:
        """Nothing is held."""


def _why(found: Mapping[str, Any]) -> str:
    return f"{found['error_type']}: {json.dumps(found['error'], default=str)}"[:500]
