"""A page as a tree of elements: what it shows, what can be acted on, and which rows it makes known.

Roles and names are those of WAI-ARIA, so a tree reads like the accessibility tree of a browser. An element that can be
acted on has an id that the site gives it, never one that follows from its place, so ids stay the same when a page is
drawn again, in forks, and in every renderer.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

from palaestra.record import record
from palaestra.records import JsonSchema, Row

Role: TypeAlias = Literal[
    "alert",
    "button",
    "cell",
    "checkbox",
    "combobox",
    "definition",
    "dialog",
    "form",
    "heading",
    "link",
    "list",
    "listitem",
    "navigation",
    "row",
    "search",
    "searchbox",
    "tab",
    "table",
    "text",
    "textbox",
]
FIELDS: frozenset[Role] = frozenset({"checkbox", "combobox", "searchbox", "textbox"})
"""The roles of elements that hold a value."""


@record
class Follow:
    """Activating the element opens another page of the site."""

    url: str


@record
class Field:
    """A field of a form, and the argument that it fills in."""

    element: str
    """The id of the element."""
    argument: str
    schema: JsonSchema
    """Of the argument's value."""
    required: bool
    references: str = ""
    """The table whose ids it takes; empty where it takes none."""


@record
class Submit:
    """Activating the element sends a form."""

    action: str
    """The tool that is called; empty where the form only looks something up, on the page at `url`."""
    fields: tuple[Field, ...]
    url: str = ""
    kept: tuple[tuple[str, str], ...] = ()
    """By argument: what is sent as well, and has no field on the page."""


Activation: TypeAlias = Follow | Submit


@record
class ShownRow:
    """What an element shows of a row."""

    row: Row
    columns: tuple[str, ...]
    ids: tuple[str, ...] = ()
    """The ids that it states."""


@record
class PageElement:
    """A part of a page."""

    role: Role
    id: str = ""
    """What actions name it by; empty where it cannot be acted on."""
    name: str = ""
    """Its accessible name: the text of a link, the label of a field."""
    value: str = ""
    """What a field holds, or the text of a definition."""
    options: tuple[str, ...] = ()
    """The values that a combobox offers."""
    required: bool = False
    activation: Activation | None = None
    shows: tuple[ShownRow, ...] = ()
    """The rows that whoever sees the element has seen."""
    children: tuple["PageElement", ...] = ()

    def walk(self) -> Iterator["PageElement"]:
        """The element and everything in it, in the order of reading."""
        yield self
        for child in self.children:
            yield from child.walk()


@record
class PageLook:
    """What of a site's look the renderers decide. Elements are the same under every look."""

    theme: Literal["light", "dark", "contrast"] = "light"
    """The colours. `light` follows the browser."""
    density: Literal["usual", "spacious", "terse"] = "usual"
    """How much room parts take; as text, `spacious` has empty lines, and `terse` leaves out roles of links."""
    language: Literal["en", "de", "es", "zh"] = "en"
    """The language of labels, by its code."""
    icons: bool = False
    """Whether buttons show a symbol in place of their name; the accessible name stays."""


PLAIN_LOOK = PageLook()


@record
class Page:
    """What a site shows at an address."""

    url: str
    title: str
    elements: tuple[PageElement, ...]
    """Without the dialog, which lies over them."""
    look: PageLook = PLAIN_LOOK

    def walk(self) -> Iterator[PageElement]:
        """Every element, in the order of reading."""
        for element in self.elements:
            yield from element.walk()


@record
class Box:
    """A rectangle in pixels; `right` and `bottom` lie outside it."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def centre(self) -> tuple[int, int]:
        """Where one clicks."""
        return (self.left + self.right) // 2, (self.top + self.bottom) // 2

    def holds(self, x: int, y: int) -> bool:
        """Whether a place lies in it."""
        return self.left <= x < self.right and self.top <= y < self.bottom
