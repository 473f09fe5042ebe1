"""The dialect for small policies: a line a row or a form's field, elements by their ids alone, and the plain tools.

What every page repeats is left out: the links to all tables stand on the first page of the site alone. So are the words
of links and buttons, whose ids say the same; a link whose words are data, an id in a column, keeps them.
"""

from collections.abc import Iterator, Sequence

from palaestra.envs.surfaces.pages.addresses import plain_address, read_address
from palaestra.envs.surfaces.pages.dialects.dialect import DialectLine, Screen, one_line
from palaestra.envs.surfaces.pages.dialects.plain import PlainDialect
from palaestra.envs.surfaces.pages.tree import FIELDS, PageElement

_BLOCKS = frozenset({"list", "table", "form", "search", "dialog"})
"""Roles whose children have lines of their own."""
_LINKS = frozenset({"link", "tab"})


class CompactDialect(PlainDialect):
    """`row.ORD-1133 placed=2026-03-01 status=shipped`."""

    name = "compact"

    def draw(self, screen: Screen) -> Iterator[DialectLine]:
        """See `Dialect`."""
        yield DialectLine(text=f"page {plain_address(screen.page.url)}")
        navigation = screen.page.elements[0]
        for element in screen.elements:
            if element != navigation or not read_address(screen.page.url).path:
                yield from _lines(element)


def _lines(element: PageElement) -> Iterator[DialectLine]:
    if element.role == "list" and element.children and all(child.role in _LINKS for child in element.children):
        yield _line(" ".join(child.id for child in element.children), [element])
    elif element.role in _BLOCKS:
        if element.role == "dialog":
            yield _line(f"dialog: {element.name}", [])
        for child in element.children:
            yield from _lines(child)
    elif element.role == "listitem":
        for place, part in enumerate(element.children):
            yield _line(f"{'  ' if place else '- '}{_words(part)}", [part])
    elif element.role in ("row", "navigation"):
        yield _line(" ".join(map(_words, element.children)), [element])
    else:
        yield _line(_words(element), [element])


def _line(text: str, parts: Sequence[PageElement]) -> DialectLine:
    inside = [inner for part in parts for inner in part.walk()]
    return DialectLine(
        text=text,
        shows=tuple(shown for inner in inside for shown in inner.shows),
        elements=tuple(inner.id for inner in inside if inner.id),
    )


def _words(element: PageElement) -> str:
    """An element in one line."""
    match element.role:
        case "heading":
            return f"# {one_line(element.name)}"
        case "text":
            return one_line(element.value)
        case "alert":
            return f"alert: {one_line(element.name)}"
        case "cell":
            return f"{element.name}={one_line(element.value)}"
        case "definition":
            return f"{element.name}={' '.join(map(_words, element.children)) or one_line(element.value)}"
        case "tab" if element.value:
            return f"{element.id} selected"
        case "link" if element.id.startswith("of."):
            return f"{element.id} {element.name}"
        case role if role in FIELDS:
            options = f" of {'|'.join(element.options)}" if element.options else ""
            return f"{element.id}={one_line(element.value)}{options}{' required' if element.required else ''}"
        case _:
            return element.id or one_line(element.name)
