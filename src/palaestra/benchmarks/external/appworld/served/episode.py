"""An episode of AppWorld: code is run until the task is completed."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.appworld.served.layout import AppWorldTask
from palaestra.benchmarks.external.appworld.served.process import AppWorldProcess, ProcessEnded
from palaestra.benchmarks.external.protocol import (
    WireCall,
    WireCheck,
    WireCriterion,
    WireOpening,
    WireReply,
    WireResult,
    WireTurn,
    WireVerdict,
    answer_result,
    refusal_result,
    reply,
    run_until,
    tool,
)

_SECONDS = 100
"""That the code of a turn may take: the package's own limit for one call."""
_GRACE = 10.0
"""Seconds besides, after which code that cannot be interrupted is ended with its process."""
_SHOWN = 300
"""Characters of an evaluator's words that a verdict quotes."""
_TOOL = tool(
    "execute",
    "Run Python code in a session that keeps its variables. What it prints is shown; use print for what you want to "
    "see. `apis` is there already.",
    {"code": {"type": "string", "description": "Python code."}},
)
_SYSTEM = (
    "You carry out a task for your supervisor by writing Python code, with the tool execute. Apps are called from code:"
    " `apis.APP.API(name=value, ...)`. See which apps there are with `print(apis.api_docs.show_app_descriptions())`, "
    "the interfaces of one with `print(apis.api_docs.show_api_descriptions(app_name='spotify'))`, and one interface "
    "with `print(apis.api_docs.show_api_doc(app_name='spotify', api_name='login'))`. The app `supervisor` knows your "
    "supervisor's profile, passwords, addresses and cards. Decide everything yourself; nobody answers questions. When "
    "the task is done, call `apis.supervisor.complete_task()`, with `answer=...` if the task asks for something, as "
    "short as it can be."
)
_LOOKS = (
    "print(apis.api_docs.show_app_descriptions())",
    "print(apis.supervisor.show_profile())",
    "print(apis.supervisor.show_account_passwords())",
    *(
        f"print(apis.api_docs.show_api_descriptions(app_name={app!r}))"
        for app in ("amazon", "gmail", "phone", "simple_note", "spotify", "splitwise", "todoist", "venmo")
    ),
)


class AppWorldEpisode:
    """One task.

    Args:
        root: The folder with the data.
        task: Which task.
    """

    def __init__(self, root: Path, task: AppWorldTask) -> None:
        self._task = task
        self._process = AppWorldProcess(root, task.id)
        self._completed = False
        self._ended: str | None = None
        """How the process was lost, if it was."""

    def opening(self) -> WireOpening:
        """The instruction, and who gives it."""
        ask = f"I am {self._task.supervisor}, your supervisor. The task: {self._task.instruction}"
        return {
            "messages": [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": ask}],
            "tools": [_TOOL],
            "criteria": [
                {"id": "solved", "text": "every requirement is met", "kind": "expect", "points": 100},
                *map(_criterion, range(len(self._task.requirements)), self._task.requirements),
            ],
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Run code."""
        del prose
        seconds = max(1, _SECONDS // max(1, len(calls)))
        results = run_until(self._is_over, partial(self._call, seconds=seconds), calls)
        return reply(results, end="finished" if self._completed else "deadline" if self._ended else None)

    def _is_over(self) -> bool:
        return self._completed or self._ended is not None

    def _call(self, call: WireCall, seconds: int) -> WireResult:
        if call["tool"] != "execute":
            return refusal_result(f"there is no tool {call['tool']!r}; the only one is execute", "unknown_tool")
        code = call["arguments"].get("code")
        if not isinstance(code, str):
            return refusal_result("code is text", "invalid_arguments")
        return self._execute(code.encode("utf-8", "replace").decode(), seconds)  # lone surrogates are no code

    def _execute(self, code: str, seconds: int) -> WireResult:
        try:
            told: Any = self._process.ask("execute", seconds=seconds + _GRACE, code=code, limit=seconds)
        except ProcessEnded as error:
            self._ended = str(error)
            return refusal_result(f"The session that this code ran in is gone: {error}.", "crashed")
        self._completed = told["completed"]
        return refusal_result(told["said"]) if told["failed"] else answer_result(told["said"])

    def verdict(self, end: str) -> WireVerdict:
        """What the task's own evaluator says; nothing is solved where code has ended the session."""
        del end
        if self._ended:
            told: Any = {"success": False, "passes": [], "failures": []}
            reason = f"the code ended its session: {self._ended}"
        else:
            told = self._process.ask("evaluate")
            reason = f"{len(told['passes'])} of {told['num_tests']} requirements are met"
        success = bool(told["success"])
        traces = {failure["requirement"]: failure["trace"].strip()[-_SHOWN:] for failure in told["failures"]}
        passes = {passed["requirement"] for passed in told["passes"]} - traces.keys()
        checks: dict[str, WireCheck] = {"solved": {"met": success, "reason": reason}}
        for number, text in enumerate(self._task.requirements):
            met = text in passes
            checks[_id(number)] = {"met": met, "reason": "met" if met else traces.get(text, "not met")}
        return {"points": 100 * success, "passed": success, "criteria": checks}

    def gold(self) -> list[WireTurn] | None:
        """The authors' own code, run as the package's own check of it does; `None` for the test sets."""
        if self._task.solution is None:
            return None
        return [_turn(f"requester.raise_on_failure = False\n{self._task.solution}\nsolution(apis, requester)")]

    def legal(self, draw: int) -> WireTurn | None:
        """Look at something."""
        return _turn(_LOOKS[draw % len(_LOOKS)])

    def state(self) -> str:
        """Nothing: the variables of a Python session cannot be told."""
        return ""

    def close(self) -> None:
        """End the process."""
        self._process.close()


def _id(number: int) -> str:
    return f"requirement-{number + 1}"


def _criterion(number: int, text: str) -> WireCriterion:
    return {"id": _id(number), "text": text, "kind": "expect", "points": 0}


def _turn(code: str) -> WireTurn:
    return {"calls": [{"tool": "execute", "arguments": {"code": code}}], "prose": ""}
