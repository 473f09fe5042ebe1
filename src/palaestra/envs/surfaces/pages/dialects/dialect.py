"""What a dialect is: a way to draw a page as text, tools to act on it, and their meaning as actions of the browser."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from palaestra.envs.surfaces.pages.dialects.session import DialectSession
from palaestra.envs.surfaces.pages.tree import Page, PageElement, ShownRow
from palaestra.errors import CapabilityError
from palaestra.record import record
from palaestra.records import ToolCall
from palaestra.tools import Tool

if TYPE_CHECKING:
    from palaestra.envs.surfaces.pages.pictures import PagePicture


@record
class DialectLine:
    """A line of an observation."""

    text: str
    shows: tuple[ShownRow, ...] = ()
    elements: tuple[str, ...] = ()
    """The ids of the elements that it shows."""


@record
class Screen:
    """What a dialect draws and reads actions by."""

    page: Page
    """The whole page in front."""
    elements: tuple[PageElement, ...]
    """What the observation may show of it, dialog or alert first."""
    session: DialectSession
    """With a number for each of these elements."""
    fresh: frozenset[str] = frozenset()
    """The ids that are new since the last observation, while the address stayed."""

    def find(self, name: str) -> PageElement | None:
        """The element of that id, be it in sight or not; `None` where the page has none."""
        return next((e for part in (*self.page.elements, *self.elements) for e in part.walk() if e.id == name), None)


class Dialect(ABC):
    """A dialect. It holds nothing of an episode, so one object serves all."""

    name: str
    tools: tuple[Tool, ...]
    """What it offers beside the world's tools that talk and end."""
    more: str = "scroll down"
    """How an agent asks for what was cut, in the words of its tools."""
    needs_screen: bool = False
    """Whether its calls name places on the screen, so that they follow from what is shown alone."""

    @abstractmethod
    def draw(self, screen: Screen) -> Iterator[DialectLine]:
        """The lines of an observation, nothing cut."""

    @abstractmethod
    def read(self, call: ToolCall, screen: Screen) -> tuple[ToolCall, ...]:
        """The actions of the browser that a call of one of `tools` means, in order.

        All but the last enter values, set the focus, or select text. The names are those of the plain tools, and
        `focus`, `select_all`, `find`, and the world's tools that talk and end.

        Args:
            call: The call, its arguments valid and complete.
            screen: Where it is made.

        Raises:
            ToolRefusal: it names something that is not there, or a key that means nothing.
        """

    @abstractmethod
    def write(self, call: ToolCall, screen: Screen | None) -> tuple[ToolCall, ...]:
        """The calls of this dialect that do what an action of the browser does.

        Args:
            call: A call of a plain tool; one that talks or ends stays as it is.
            screen: Where it is made; `None` where that is not known, and elements go by the site's own ids.
        """

    def handle(self, element: str, screen: Screen | None) -> str:
        """How this dialect names an element."""
        del screen
        return element

    def draw_end(self, screen: Screen) -> Iterator[DialectLine]:
        """Lines that end an observation, after the elements."""
        del screen
        return iter(())


def one_line(text: str) -> str:
    """A text in one line."""
    return " ".join(text.split())


def with_numbers(session: DialectSession, elements: tuple[PageElement, ...]) -> DialectSession:
    """The session with a number for each of the elements."""
    known = set(session.handles)
    new = dict.fromkeys(e.id for part in elements for e in part.walk() if e.id and e.id not in known)
    return replace(session, handles=(*session.handles, *new)) if new else session


def picture_of(screen: Screen) -> "PagePicture":
    """What Chromium draws of a screen.

    Raises:
        CapabilityError: Chromium, Playwright or Pillow is missing.
    """
    lying = screen.session.tab.outcome is not None
    taken: PagePicture = _pictures().take_picture(screen.page, screen.elements[lying:], screen.session)
    return taken


def check_pictures() -> None:
    """Refuse pictures where they cannot be drawn.

    Raises:
        CapabilityError: Chromium, Playwright or Pillow is missing.
    """
    _pictures().require_program()


def _pictures() -> ModuleType:
    try:
        return import_module("palaestra.envs.surfaces.pages.pictures")
    except ModuleNotFoundError as missing:
        raise CapabilityError(
            f"renderer='chromium': {missing.name} is not installed; pip install 'palaestra[web]'"
        ) from missing
