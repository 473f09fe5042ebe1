"""What a browser holds between two actions: tabs, histories, form values, scrolling, an open dialog."""

from dataclasses import replace
from typing import Self

import orjson

from palaestra.envs.surfaces.pages.disturbances import DisturbanceState
from palaestra.envs.surfaces.pages.settings import PageSettings
from palaestra.record import record
from palaestra.records import Json

MOST_TABS = 8
"""The most tabs that are open at once."""
CLOSE = "dialog.close"
"""The id of the button that closes the dialog of an outcome."""


@record
class Outcome:
    """What came of a form that was sent."""

    action: str
    content: str
    """The answer, as JSON."""
    refused: bool

    @property
    def alert(self) -> str:
        """Why it was refused: the code and the message of its error."""
        content: Json = orjson.loads(self.content)
        error = content.get("error") if isinstance(content, dict) else None
        return f"{error.get('code')}: {error.get('message')}" if isinstance(error, dict) else str(content)


@record
class Tab:
    """One tab of the browser."""

    history: tuple[str, ...] = ("/",)
    """The addresses that were visited, the first ones first."""
    place: int = 0
    """Which of them is open."""
    values: tuple[tuple[str, str], ...] = ()
    """By the id of a field: what was entered on the open page."""
    scroll: int = 0
    """The lines of the page above the viewport."""
    outcome: Outcome | None = None
    """Of the form that was sent last: a dialog where it was done, an alert where it was refused."""

    @property
    def url(self) -> str:
        """The address of the open page."""
        return self.history[self.place]

    def visit(self, url: str) -> "Tab":
        """The tab after another page was opened; what lay ahead in its history is gone."""
        return Tab(history=(*self.history[: self.place + 1], url), place=self.place + 1)

    def step(self, by: int) -> "Tab":
        """The tab `by` pages further in its history."""
        return Tab(history=self.history, place=self.place + by)

    def replace_page(self, url: str) -> "Tab":
        """The tab with another page in place of the open one: nothing is entered, and what lay ahead stays."""
        return Tab(history=(*self.history[: self.place], url, *self.history[self.place + 1 :]), place=self.place)

    def enter(self, field: str, value: str) -> "Tab":
        """The tab after a value was entered."""
        return replace(self, values=(*(pair for pair in self.values if pair[0] != field), (field, value)))

    def value_of(self, field: str, otherwise: str) -> str:
        """What was entered in a field, or `otherwise` where nothing was."""
        return next((value for name, value in self.values if name == field), otherwise)


@record
class ThreadMessage:
    """A message of the talk with the user."""

    by_agent: bool
    text: str


@record
class BrowserSession:
    """A browser between two actions. It pickles, and equal ones go on alike."""

    tabs: tuple[Tab, ...] = (Tab(),)
    active: int = 0
    settings: PageSettings = PageSettings()
    disturbance: DisturbanceState = DisturbanceState()
    """What stands between the agent and the page."""
    thread: tuple[ThreadMessage, ...] = ()
    """The request, and what was written since."""

    @property
    def tab(self) -> Tab:
        """The tab in front."""
        return self.tabs[self.active]

    def with_tab(self, tab: Tab) -> Self:
        """The session with another tab in front."""
        return replace(self, tabs=(*self.tabs[: self.active], tab, *self.tabs[self.active + 1 :]))
