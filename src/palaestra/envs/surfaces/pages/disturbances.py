"""What comes between an agent and a page: a cookie banner, a pop-up, a chat, a log-in, a slow answer, a failed load.

A disturbance comes with the opening of a page, drawn by the seed and the number of pages opened before. It is a part of
the session, so snapshots, forks and digests contain it. One that covers the page hides every row and element until its
link is followed; it changes no row and sends no form.
"""

from collections.abc import Mapping
from dataclasses import replace

from palaestra.envs.surfaces.pages.pieces import link_element
from palaestra.envs.surfaces.pages.tree import Page, PageElement
from palaestra.errors import UnknownNameError
from palaestra.record import record
from palaestra.seeding import Stream

SLOW = "slow"
DISTURBANCES: Mapping[str, tuple[str, str, str]] = {
    "cookies": ("Cookies", "This site uses cookies. Choose before you go on.", "Only necessary ones"),
    "newsletter": ("Newsletter", "Subscribe to our newsletter and hear of news first.", "No, thanks"),
    "chat": ("Chat", "Hello! How can we help?", "Close the chat"),
    "expired": ("Log in", "Your session has expired.", "Log in again"),
    SLOW: ("Loading", "The page is still loading.", "Look again"),
    "failed": ("Something went wrong", "The page could not be loaded.", "Reload"),
}
"""By kind: its heading, its text, and the link that ends it."""
BESIDE = frozenset({"chat"})
"""The kinds that stand below the page and cover nothing."""
END = "disturbance.end"
"""The id of the link that ends a disturbance."""
SLOW_SECONDS = 30
"""Seconds of the virtual clock that a slow answer takes."""


@record
class DisturbanceSettings:
    """Which disturbances there are, and how often."""

    percent: int
    """How many openings of pages in a hundred bring one."""
    seed: int = 0
    kinds: tuple[str, ...] = tuple(DISTURBANCES)

    def __post_init__(self) -> None:
        if not 0 <= self.percent <= 100:
            raise ValueError(f"percent={self.percent}: it lies between 0 and 100")
        if self.seed < 0:
            raise ValueError(f"seed={self.seed}: seeds are 0 or above")
        if not self.kinds:
            raise ValueError("kinds=(): name at least one, or leave disturbances out")
        for kind in self.kinds:
            if kind not in DISTURBANCES:
                raise UnknownNameError.of("disturbance", kind, DISTURBANCES)


@record
class DisturbanceState:
    """Which disturbance there is now, and how many pages were opened before."""

    opened: int = 0
    present: str = ""
    """Its kind; empty where there is none."""

    def open_page(self, settings: DisturbanceSettings) -> "DisturbanceState":
        """The state after a page was opened. One that is there already stays."""
        draw = Stream.root("disturbances", settings.seed).split(self.opened)
        present = self.present
        if not present and draw.chance(settings.percent):
            present = draw.choice(settings.kinds)
        return DisturbanceState(opened=self.opened + 1, present=present)

    def end(self) -> "DisturbanceState":
        """The state without the disturbance."""
        return replace(self, present="")


def disturb_page(page: Page, kind: str) -> Page:
    """The page with the disturbance: below it, or in its place."""
    title, text, answer = DISTURBANCES[kind]
    link = link_element(END, answer, page.url)
    parts = (
        PageElement(role="heading", name=title),
        PageElement(role="text", value=text),
        PageElement(role="navigation", name=title, children=(link,)),
    )
    if kind in BESIDE:
        return replace(page, elements=(*page.elements, *parts))
    empty = PageElement(role="navigation", name="Tables")
    return replace(page, title=title, elements=(empty, *parts))
