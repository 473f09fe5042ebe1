"""One episode of MiniWoB++: a page that was given a seed, and time that passes only when the agent acts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.browsing import BROWSER_TOOLS, answer_act
from palaestra.benchmarks.external.miniwob.served.solvers import SOLVERS, words_of
from palaestra.benchmarks.external.protocol import (
    WireCall,
    WireOpening,
    WireReply,
    WireTurn,
    WireVerdict,
    answer_result,
    reply,
    run_until,
    single,
)
from palaestra.browser.acts import Acts
from palaestra.browser.driver import Browser
from palaestra.browser.view import Element, describe_page, elements

_AFTER_ACT = 1_000
"""Milliseconds of the page's time that pass after each act: longer than its animations."""
_FURNITURE = ["query", "reward-display", "click-canvas", "sync-task-cover"]
"""What stands around every task: the goal, which is told in words, and the display of the score."""
_SYSTEM = (
    "You use a web page to carry out a task. You see the page as a list of elements, each with its number, and the"
    " middle and size of its place in pixels. Numbers stay with their elements. After each turn you see the page again;"
    " a second of the page's time passes with each act."
)
_GOAL = r"""() => {
    const said = core.getUtterance();
    const text = typeof said === "string" ? said : said.utterance;
    const icon = document.querySelector("#query .ui-icon");
    const named = icon && [...icon.classList].find((name) => name.startsWith("ui-icon-"));
    return named ? text.replace(/\s+icon/, ` "${named}" icon`) : text;
}"""
_BEGIN = """seed => {
    Math.seedrandom(seed);
    core.EPISODE_MAX_TIME = 1e6;
    core.startEpisodeReal();
    __palaestra.hide(%s);
}"""


class MiniWoBEpisode:
    """A page that is played."""

    def __init__(self, browser: Browser, page: Path, name: str, seed: int, observation: str) -> None:
        self._browser, self._page, self._name, self._seed, self._observation = browser, page, name, seed, observation
        self._window = browser.open(held=True, reach=["file:"])
        self._acts = Acts(self._window)
        self._done, self._raw, self._why, self._left = False, 0.0, "", False
        self._window.page.goto(page.as_uri())
        self._window.run(_BEGIN % _FURNITURE, str(seed))
        self._window.pass_time(_AFTER_ACT)
        self.goal: str = self._window.run(_GOAL)

    def opening(self) -> WireOpening:
        """The goal and the page."""
        return {
            "messages": [
                {"role": "system", "content": _SYSTEM},
                {"role": "user", "content": f"Your task: {self.goal}\n\n{self._view()}"},
            ],
            "tools": list(BROWSER_TOOLS),
            "criteria": [{"id": "solved", "text": "the page counts it as right", "kind": "expect", "points": 100}],
            "prose": False,
        }

    def turn(self, calls: Sequence[WireCall], prose: str) -> WireReply:
        """Act, and see the page after the last act."""
        del prose
        results = run_until(lambda: self.over, self._act, calls)
        if results and not self.over:
            last = results[-1]
            results[-1] = {**last, "content": f"{last['content']}\n\n{self._view()}"}
        return reply(results, points=self._points(), end="finished" if self.over else None)

    def _act(self, call: WireCall) -> Any:
        result = answer_act(self._acts, call["tool"], call["arguments"])
        if result["error"] is None:
            self._window.pass_time(_AFTER_ACT)
            if self._is_over():
                return answer_result(f"{result['content']}. The task is over.")
        return result

    def _is_over(self) -> bool:
        """Ask the page whether it is over. Leaving it ends the episode, as in BrowserGym."""
        self._left = self._window.page.url.partition("#")[0] != self._page.as_uri()
        if not self._left:
            self._raw, self._done, self._why = self._window.run(
                "() => [WOB_RAW_REWARD_GLOBAL, WOB_DONE_GLOBAL, String(WOB_REWARD_REASON || '')]"
            )

        return self.over

    @property
    def over(self) -> bool:
        """Whether the page has judged, or was left."""
        return bool(self._done or self._left)

    def elements(self) -> list[Element]:
        """The elements of the page."""
        return elements(self._window)

    def _view(self) -> str:
        return describe_page(self._window, self._observation)

    def _points(self) -> int:
        return round(100 * max(0.0, min(1.0, float(self._raw)))) if self._done and not self._left else 0

    def verdict(self, end: str) -> WireVerdict:
        """The page's raw reward, which no clock has lowered; solved is above 0, as BrowserGym counts."""
        del end
        passed = bool(self._done and not self._left and self._raw > 0)
        judged = f"reward {self._raw:g}{f': {self._why}' if self._why else ''}" if self._done else "it was not done"
        return single(points=self._points(), passed=passed, reason="the page was left" if self._left else judged)

    def gold(self) -> list[WireTurn] | None:
        """What a script does that sees what an agent sees; played in a window beside this one."""
        if self._name not in SOLVERS:
            return None
        beside = MiniWoBEpisode(self._browser, self._page, self._name, self._seed, self._observation)
        turns: list[WireTurn] = []
        try:
            for calls in SOLVERS[self._name](beside.goal, beside.elements):
                turns.append({"calls": calls, "prose": ""})
                beside.turn(calls, "")
                if beside.over:
                    break
        finally:
            beside.close()
        return turns

    def legal(self, draw: int) -> WireTurn | None:
        """A click on something that is in view, or a word of the goal typed into a field."""
        choices = [element for element in self.elements() if "out of view" not in element["state"]]
        if self.over or not choices:
            return None
        element, more = choices[draw % len(choices)], draw // len(choices)
        ref = {"ref": element["ref"]}
        if element["options"]:
            option = element["options"][more % len(element["options"])][0]
            return _turn("select", {**ref, "options": [option]})
        words = words_of(self.goal)
        if element["value"] is not None and words and more % 4:
            return _turn("type", {**ref, "text": words[more // 4 % len(words)]})
        return _turn("click", ref)

    def state(self) -> str:
        """Nothing: a page's scripts keep what cannot be read."""
        return ""

    def close(self) -> None:
        """Close the window."""
        self._window.close()


def _turn(name: str, arguments: dict[str, Any]) -> WireTurn:
    return {"calls": [{"tool": name, "arguments": arguments}], "prose": ""}
