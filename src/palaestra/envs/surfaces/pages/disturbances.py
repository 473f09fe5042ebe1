"""What comes between an agent and a page: a cookie banner, a log-in, a slow answer, an old list, a moved button.

A disturbance comes with the opening of a page, drawn by the seed and the number of pages opened before. It is a part of
the session, so snapshots, forks and digests contain it. One that covers the page hides every row and element until its
link is followed; none changes a row or sends a form.
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
    "stale": ("Not up to date", "Lists on this page may lack their last row.", "Refresh"),
    "failed": ("Something went wrong", "The page could not be loaded.", "Reload"),
}
"""By kind: its heading, its text, and the link that ends it."""
BESIDE = frozenset({"chat", "stale"})
"""The kinds that stand below the page and cover nothing."""
PASSING = ("moved", "disabled")
"""The kinds that change forms and end with the page: the button stands first; it is missing while a required field is
empty."""
KINDS = (*DISTURBANCES, *PASSING)
"""All kinds."""
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
    kinds: tuple[str, ...] = KINDS

    def __post_init__(self) -> None:
        if not 0 <= self.percent <= 100:
            raise ValueError(f"percent={self.percent}: it lies between 0 and 100")
        if self.seed < 0:
            raise ValueError(f"seed={self.seed}: seeds are 0 or above")
        if not self.kinds:
            raise ValueError("kinds=(): name at least one, or leave disturbances out")
        for kind in self.kinds:
            if kind not in KINDS:
                raise UnknownNameError.of("disturbance", kind, KINDS)


@record
class DisturbanceState:
    """Which disturbance there is now, and how many pages were opened before."""

    opened: int = 0
    present: str = ""
    """Its kind; empty where there is none."""

    def open_page(self, settings: DisturbanceSettings) -> "DisturbanceState":
        """The state after a page was opened. One that is there already stays, if it does not pass."""
        draw = Stream.root("disturbances", settings.seed).split(self.opened)
        present = "" if self.present in PASSING else self.present
        if not present and draw.chance(settings.percent):
            present = draw.choice(settings.kinds)
        return DisturbanceState(opened=self.opened + 1, present=present)

    def end(self) -> "DisturbanceState":
        """The state without the disturbance."""
        return replace(self, present="")


def disturb_page(page: Page, kind: str) -> Page:
    """The page with the disturbance: below it, in its place, or in its forms."""
    if kind in PASSING:
        return replace(page, elements=tuple(_change_forms(element, kind) for element in page.elements))
    title, text, answer = DISTURBANCES[kind]
    link = link_element(END, answer, page.url)
    parts = (
        PageElement(role="heading", name=title),
        PageElement(role="text", value=text),
        PageElement(role="navigation", name=title, children=(link,)),
    )
    if kind in BESIDE:
        shown = tuple(map(_drop_last_row, page.elements)) if kind == "stale" else page.elements
        return replace(page, elements=(*shown, *parts))
    empty = PageElement(role="navigation", name="Tables")
    return replace(page, title=title, elements=(empty, *parts))


def _change_forms(element: PageElement, kind: str) -> PageElement:
    """The element, and the forms in it with their buttons moved or missing."""
    if element.role != "form":
        return replace(element, children=tuple(_change_forms(child, kind) for child in element.children))
    buttons = tuple(child for child in element.children if child.role == "button")
    others = tuple(child for child in element.children if child.role != "button")
    if kind == "moved":
        return replace(element, children=(*buttons, *others))
    empty = [child.name for child in others if child.required and not child.value]
    if not empty:
        return element
    missing = PageElement(role="text", value=f"Fill in {', '.join(empty)} first.")
    return replace(element, children=(*others, missing))


def _drop_last_row(element: PageElement) -> PageElement:
    """The element, and the lists in it without their last row."""
    children = tuple(map(_drop_last_row, element.children))
    if children and children[-1].role in ("row", "listitem"):
        children = children[:-1]
    return replace(element, children=children)
