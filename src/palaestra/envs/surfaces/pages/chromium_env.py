"""An environment whose pages are those that Chromium shows: actions take place there, and its document is what is read.

Rows, rules and scores are those of the environment inside. What an agent reads of a page is drawn from Chromium's
document in the dialect of the environment's settings; of the session in process it takes the place to which the page is
scrolled, and which tab is in front. Answers of tools that talk and end, and refusals of actions, are not pages.
"""

from dataclasses import replace
from typing import Any

import gymnasium as gym

from palaestra.envs.env import ToolEnv
from palaestra.envs.reading import echo_ids
from palaestra.envs.surfaces.pages.chromium import Chromium, ChromiumPages
from palaestra.envs.surfaces.pages.dialects import DIALECTS, DialectBrowser
from palaestra.envs.surfaces.pages.dialects.drawing import observe
from palaestra.envs.surfaces.pages.dialects.session import DialectSession, LastObservation
from palaestra.errors import CapabilityError, ToolRefusal
from palaestra.protocols import Action
from palaestra.records import Message, ToolCall
from palaestra.steps import Returned, StepRecord

_Observation = tuple[Message, ...]


class ChromiumEnv(gym.Wrapper[_Observation, Action, _Observation, Action]):
    """Pages in Chromium, behind the same interface. A turn of several calls counts as so many turns.

    Args:
        env: An environment on the surface of pages, in a dialect that takes the plain actions.
        program: The path of Chromium.

    Raises:
        CapabilityError: the environment has no pages, its dialect has actions of its own, or its actions are code.
    """

    def __init__(self, env: gym.Env[_Observation, Action], program: str) -> None:
        super().__init__(env)
        inside = env.unwrapped
        assert isinstance(inside, ToolEnv), "pages are Palaestra's own"
        if inside.runs_code:
            raise CapabilityError("action_format='python': code acts on pages in process; choose a format of calls")
        self._inside = inside
        self._program = program
        self._chromium: Chromium | None = None
        self._pages: ChromiumPages | None = None
        self._observed: LastObservation | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_Observation, dict[str, Any]]:
        """Begin an episode; the first page is the one that Chromium shows."""
        messages, info = self.env.reset(seed=seed, options=options)
        self._observed = None
        self._browser()
        if self._pages is None:
            self._chromium = Chromium(self._program)
            self._pages = self._chromium.open(self._inside)
        else:
            self._pages.begin_again()
        return (*messages[:-1], self._message(messages[-1])), info

    def step(self, action: Action) -> Returned:
        """Take one turn: actions on pages in Chromium, with mouse and keyboard, and other calls in process."""
        turn = self._inside.read(action)
        if turn.unreadable is not None or not any(map(self._on_page, turn.calls)):
            return self._step_in_process(action)
        taken: list[StepRecord] = []
        for call in turn.calls:
            taken.append(self._take(call))
            if taken[-1].end is not None:
                break
        return replace(
            taken[-1],
            messages=echo_ids([message for one in taken for message in one.messages], turn.ids),
            reward=sum(one.reward for one in taken),
            calls=turn.calls,
            events=tuple(event for one in taken for event in one.events),
            changes=tuple(change for one in taken for change in one.changes),
        ).to_gymnasium()

    def close(self) -> None:
        """Close Chromium and the environment."""
        if self._chromium is not None:
            self._chromium.close()
        self._chromium = self._pages = None
        self.env.close()

    def _step_in_process(self, action: Action) -> Returned:
        """A turn that acts on no page; what it writes to the user stands on the page in front."""
        thread = self._browser().session.thread
        returned = self._inside.step(action)
        if self._browser().session.thread != thread and self._pages is not None:
            self._pages.refresh()
        return returned

    def _take(self, call: ToolCall) -> StepRecord:
        """One call, as a turn of its own."""
        valid = self._on_page(call)
        if valid is None:
            return _record(self._step_in_process({"tool": call.tool, "arguments": dict(call.arguments)}))
        pages = self._pages
        assert pages is not None, "reset opens them"
        pages.act(valid)
        assert pages.returned is not None, "the action took place"
        done = _record(pages.returned)
        if done.events and done.events[-1].error is not None:
            return done
        *others, page = done.messages
        return replace(done, messages=(*others, self._message(page)))

    def _on_page(self, call: ToolCall) -> ToolCall | None:
        """The call with all its arguments where it acts on a page; `None` where it does not, or is not valid."""
        if call.tool in self._inside.world.toolbox or call.tool not in self._inside.toolbox:
            return None
        try:
            return replace(call, arguments=self._inside.toolbox[call.tool].validate(call.arguments))
        except ToolRefusal:
            return None

    def _message(self, message: Message) -> Message:
        """A message with the page that Chromium shows in place of the one drawn in process."""
        browser, pages = self._browser(), self._pages
        assert pages is not None, "reset opens them"
        seen = pages.read()
        session: DialectSession = browser.session
        shown = replace(session.with_tab(replace(session.tab, outcome=seen.outcome)), observed=self._observed)
        dialect = DIALECTS[browser.settings.dialect_in_use]
        lines = browser.view(self._inside.episode.state).lines
        observation = observe(dialect, seen.page, shown, lines=lines)
        self._observed = observation.session.observed
        shown_message = message.copy()
        shown_message["content"] = observation.text
        return shown_message

    def _browser(self) -> DialectBrowser:
        browser = self._inside.episode.surface
        if not isinstance(browser, DialectBrowser) or browser.settings.dialect_in_use not in _PLAIN_ACTIONS:
            raise CapabilityError(
                "Chromium takes the plain actions; make the environment with surface='pages' and, in surface_settings, "
                f"a dialect of {', '.join(_PLAIN_ACTIONS)}"
            )
        return browser


_PLAIN_ACTIONS = ("plain", "compact", "html")
"""Dialects whose actions are the plain ones."""


def _record(returned: Returned) -> StepRecord:
    done: StepRecord = returned[-1]["record"]
    return done
