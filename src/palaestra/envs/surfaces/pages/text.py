"""The renderer that training uses: a page as lines of text, in process, without HTML.

`[id] role "name"` is an element that can be acted on; a row of a table is one line. The agent sees the viewport: a
number of lines, which it scrolls. A dialog lies over the page and is seen whole.
"""

from collections.abc import Iterator
from functools import lru_cache
from textwrap import wrap

import orjson

from palaestra.envs.surfaces.pages.session import CLOSE, BrowserSession, Outcome
from palaestra.envs.surfaces.pages.tree import FIELDS, Page, PageElement, ShownRow
from palaestra.record import record
from palaestra.records import Json

WIDTH = 160
"""Letters of a line; longer texts go on in the next line."""
VIEWPORT = 60
"""Lines of a page that are seen at once."""
SCROLL = VIEWPORT - 10
"""Lines that one scroll moves."""
INLINE = frozenset({"row", "search", "navigation"})
"""Roles of elements whose children stand in one line."""


@record
class TextLine:
    """A line of a page."""

    text: str
    shows: tuple[ShownRow, ...] = ()


_BLANK = TextLine(text="")


@record
class PageView:
    """What is seen of a page."""

    text: str
    shows: tuple[ShownRow, ...]
    lines: int
    """Of the whole page, so that a browser knows how far it can scroll."""


def view_page(page: Page, session: BrowserSession) -> PageView:
    """The viewport of a page in the tab in front."""
    tab = session.tab
    look = page.look
    lines = [line for element in page.elements for line in _lines_of(element, terse=look.density == "terse")]
    if look.density == "spacious":
        lines = [spaced for line in lines for spaced in ((line, _BLANK) if not line.text.startswith(" ") else (line,))]
    top = min(tab.scroll, max(0, len(lines) - 1))
    seen = lines[top : top + VIEWPORT]
    told = f" tab {session.active + 1} of {len(session.tabs)}" if len(session.tabs) > 1 else ""
    head = [f'page {page.url} "{page.title}"{told}']
    if tab.outcome is not None:
        head += _outcome_lines(tab.outcome)
    if len(lines) > VIEWPORT:
        head.append(f"lines {top + 1} to {top + len(seen)} of {len(lines)}; scroll for the others")
    return PageView(
        text="\n".join([*head, *(line.text for line in seen)]),
        shows=tuple(shown for line in seen for shown in line.shows),
        lines=len(lines),
    )


def _outcome_lines(outcome: Outcome) -> list[str]:
    """What came of the form that was sent last."""
    if outcome.refused:
        return [f"alert: {outcome.alert}"]
    content: Json = orjson.loads(outcome.content)
    return [f"dialog: {outcome.action} is done", *content_lines(content, "  "), f'  [{CLOSE}] button "Close"']


def content_lines(content: Json, indent: str) -> Iterator[str]:
    """An answer in lines: a field a line, a record of a list a line."""
    if isinstance(content, dict):
        for name, value in content.items():
            if isinstance(value, dict | list) and value:
                yield f"{indent}{name}:"
                yield from content_lines(value, f"{indent}  ")
            else:
                yield f"{indent}{name}: {_value_text(value)}"
    elif isinstance(content, list):
        yield from (f"{indent}- {_value_text(part)}" for part in content)
    else:
        yield f"{indent}{_value_text(content)}"


def _value_text(value: Json) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _lines_of(element: PageElement, *, terse: bool) -> tuple[TextLine, ...]:
    """The lines of an element; those that are the same on every page are made once."""
    return _cached_lines(element) if element.role == "navigation" else tuple(element_lines(element, terse=terse))


@lru_cache(maxsize=1_024)
def _cached_lines(element: PageElement) -> tuple[TextLine, ...]:
    return tuple(element_lines(element))


def element_lines(element: PageElement, indent: str = "", *, terse: bool = False) -> Iterator[TextLine]:
    """The lines of an element.

    Args:
        element: The element.
        indent: What its lines begin with.
        terse: Whether the roles of links are left out.
    """
    if element.role in INLINE:
        parts = [
            _short(child) if element.role == "navigation" else _label(child, terse=terse) for child in element.children
        ]
        shows = tuple(shown for part in element.walk() for shown in part.shows)
        name = "" if element.role == "row" else f"{element.name}: "
        yield from _wrapped_lines(f"{indent}{name}{' | '.join(parts)}", shows, indent)
        return
    if element.role == "listitem":
        yield from _card_lines(element, indent, terse=terse)
        return
    label = _label(element, terse=terse)
    if element.role in ("list", "table", "form"):
        label = f"{element.role} {element.name}".rstrip() + ":"
    if element.role == "definition" and element.children:
        yield TextLine(text=f"{indent}{element.name}: {_label(element.children[0], terse=terse)}", shows=element.shows)
        return
    yield from _wrapped_lines(f"{indent}{label}", element.shows, indent)
    for child in element.children:
        yield from element_lines(child, f"{indent}  ", terse=terse)


def _card_lines(card: PageElement, indent: str, *, terse: bool) -> Iterator[TextLine]:
    """A card: its parts below each other, behind a dash."""
    for place, part in enumerate(card.children):
        text = f"{indent}{'  ' if place else '- '}{_label(part, terse=terse)}"
        yield from _wrapped_lines(text, part.shows, f"{indent}  ")


def _wrapped_lines(text: str, shows: tuple[ShownRow, ...], indent: str) -> Iterator[TextLine]:
    """A text in lines; what it shows is seen with the last of them."""
    if len(text) <= WIDTH and "\n" not in text:
        yield TextLine(text=text, shows=shows)
        return
    parts = _wrap(text, indent)
    for part in parts[:-1]:
        yield TextLine(text=part)
    yield TextLine(text=parts[-1], shows=shows)


@lru_cache(maxsize=4_096)
def _wrap(text: str, indent: str) -> tuple[str, ...]:
    lines = text.split("\n")
    return tuple(part for line in lines for part in wrap(line, WIDTH, subsequent_indent=f"{indent}  ") or [""])


def _short(link: PageElement) -> str:
    """A link among many, or a tab."""
    return f"[{link.id}] {link.name}{' (selected)' if link.role == 'tab' and link.value else ''}"


def _label(element: PageElement, *, terse: bool = False) -> str:
    """An element in words.

    Args:
        element: The element.
        terse: Whether the roles of links are left out.
    """
    match element.role:
        case "heading":
            return f"# {element.name}"
        case "text":
            return element.value
        case "cell":
            return f"{element.name} {element.value}"
        case "definition":
            return f"{element.name}: {element.value}"
        case "link" if terse:
            return f'[{element.id}] "{element.name}"{f" {element.value}" if element.value else ""}'
        case _:
            said = f'[{element.id}] {element.role} "{element.name}"'
            if element.role in FIELDS:
                said += f' holds "{element.value}"' if element.value else " is empty"
                said += " required" if element.required else ""
                said += f" of {', '.join(element.options)}" if element.options else ""
            elif element.value:
                said += f" {element.value}"
            return said
