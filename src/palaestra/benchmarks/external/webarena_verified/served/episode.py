"""Episodes: tasks played in a browser, and recorded runs that are given an answer."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.browsing import BROWSER_TOOLS, answer_act
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
    run_until,
    tool,
)
from palaestra.benchmarks.external.webarena_verified.served.scoring import Scorer
from palaestra.benchmarks.external.webarena_verified.served.trace import Trace
from palaestra.browser.acts import Acts
from palaestra.browser.driver import PLAYWRIGHT, Browser
from palaestra.browser.view import describe_page

TYPES = ("RETRIEVE", "MUTATE", "NAVIGATE")
STATUSES = (
    "SUCCESS",
    "NOT_FOUND_ERROR",
    "ACTION_NOT_ALLOWED_ERROR",
    "PERMISSION_DENIED_ERROR",
    "DATA_VALIDATION_ERROR",
    "UNKNOWN_ERROR",
)
_SYSTEM = (
    "You work in web sites to carry out a task, and end it with `respond`. The task's type is RETRIEVE where data is"
    " asked for, MUTATE where something is to be created, changed or deleted, and NAVIGATE where a page is to be shown."
    " retrieved_data is a list where the type is RETRIEVE, even of one item, and null otherwise; its items are plain"
    " values unless the task asks for objects. error_details is null where the status is SUCCESS. Change nothing that"
    " the task does not ask for."
)
RESPOND = tool(
    "respond",
    "Give the final answer. Nothing can be done afterwards.",
    {
        "task_type": {"type": "string", "enum": list(TYPES)},
        "status": {"type": "string", "enum": list(STATUSES)},
        "retrieved_data": {"type": ["array", "null"]},
        "error_details": {"type": ["string", "null"]},
    },
    required=("task_type", "status"),
)
_GO = (
    tool("go", "Go to an address of one of the sites.", {"url": {"type": "string"}}),
    tool("back", "Go back to the page before.", {}),
)
_SETTLE = 500
"""Milliseconds that a site is given after each act."""
_LOAD = 30_000


class WebArenaEpisode:
    """A task that ends with an answer; as it is, one whose run was recorded before."""

    tools: Sequence[Mapping[str, Any]] = (RESPOND,)

    def __init__(self, scorer: Scorer, task: int, recorded: Path | None) -> None:
        self._scorer, self._task, self._recorded = scorer, task, recorded
        self._answer: dict[str, Any] | None = None

    def opening(self) -> WireOpening:
        """The task's words, and what is seen."""
        task = self._scorer.tasks[self._task]
        return {
            "messages": [
                {"role": "system", "content": _SYSTEM},
                {"role": "user", "content": f"Your task: {task.intent}{self._describe_page()}"},
            ],
            "tools": [dict(one) for one in self.tools],
            "criteria": self._scorer.criteria(self._task),
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Act; the page is shown after the last act."""
        del prose
        results = run_until(lambda: self._answer is not None, self._act, calls)
        if results and not self._answer:
            results[-1] = {**results[-1], "content": results[-1]["content"] + self._describe_page()}
        over = self._answer is not None
        return reply(results, points=self.verdict("")["points"] if over else 0, end="finished" if over else None)

    def _act(self, call: WireCall) -> WireResult:
        if call["tool"] != "respond":
            return self._did(call)
        given = call["arguments"]
        if given.get("task_type") not in TYPES or given.get("status") not in STATUSES:
            known = f"task_type is one of {', '.join(TYPES)}; status is one of {', '.join(STATUSES)}"
            return refusal_result(known, "invalid_arguments")
        self._answer = {name: given.get(name) for name in ("task_type", "status", "retrieved_data", "error_details")}
        return answer_result("the answer was taken")

    def _did(self, call: WireCall) -> WireResult:
        known = ", ".join(one["function"]["name"] for one in self.tools)
        return refusal_result(f"there is no tool {call['tool']!r}; there are {known}", "unknown_tool")

    def _describe_page(self) -> str:
        return "\n\nThe run was recorded before; only the answer is missing."

    def _trace(self) -> Path | Sequence[Mapping[str, Any]]:
        assert self._recorded is not None
        return self._recorded

    def verdict(self, end: str) -> WireVerdict:
        """That of the package's evaluators."""
        del end
        return self._scorer.verdict(self._task, self._answer, self._trace())

    def gold(self) -> list[WireTurn] | None:
        """Nothing: the benchmark tells no way through its sites."""
        return None

    def legal(self, draw: int) -> WireTurn | None:
        """Nothing special."""
        del draw
        return None

    def state(self) -> str:
        """Nothing: sites cannot tell."""
        return ""

    def close(self) -> None:
        """Nothing is held."""


class BrowserEpisode(WebArenaEpisode):
    """A task that is played in a browser."""

    tools = (*BROWSER_TOOLS, *_GO, RESPOND)

    def __init__(
        self,
        scorer: Scorer,
        task: int,
        *,
        browser: Browser,
        sites: Mapping[str, str],
        storage: str | None,
        observation: str,
    ) -> None:
        super().__init__(scorer, task, None)
        self._reach, self._observation = tuple(sites.values()), observation
        self._window = browser.open(held=False, reach=self._reach, size=(1280, 720), storage=storage)
        self._traced, self._acts = Trace(self._window), Acts(self._window)
        start = str(scorer.tasks[task].start_urls[0])
        for site, url in sites.items():
            start = start.replace(f"__{site.upper()}__", url)
        self._window.page.goto(start, timeout=_LOAD)
        self._settle()

    def _did(self, call: WireCall) -> WireResult:
        if call["tool"] == "go":
            result = self._go_to(call["arguments"].get("url"))
        elif call["tool"] == "back":
            with suppress(PLAYWRIGHT.Error):
                self._window.page.go_back(timeout=_LOAD)
            result = answer_result("went back")
        else:
            result = answer_act(self._acts, call["tool"], call["arguments"])
        self._settle()
        return result

    def _go_to(self, url: Any) -> WireResult:
        if not isinstance(url, str) or not url.startswith(self._reach):
            return refusal_result(f"url begins with one of {', '.join(self._reach)}", "invalid_arguments")
        try:
            self._window.page.goto(url, timeout=_LOAD)
        except PLAYWRIGHT.Error as error:
            return refusal_result(f"the page did not load: {str(error).splitlines()[0]}")
        return answer_result(f"went to {url}")

    def _settle(self) -> None:
        self._window.pass_time(_SETTLE)
        with suppress(PLAYWRIGHT.TimeoutError):  # a site that loads for ever is shown as it stands
            self._window.page.wait_for_load_state("load", timeout=_LOAD)

    def _describe_page(self) -> str:
        return f"\n\n{self._window.page.url}\n{describe_page(self._window, self._observation)}"

    def _trace(self) -> Sequence[Mapping[str, Any]]:
        return self._traced.entries()

    def close(self) -> None:
        """Close the window."""
        self._window.close()
