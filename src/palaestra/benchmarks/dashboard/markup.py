"""HTML that is safe by construction: any string that this module did not make is text, and is escaped.

Characters that would hide or reorder neighbouring text (controls, and marks of writing direction) are shown as code
points. Long texts are cut; the page states how many characters are missing.
"""

import html
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlencode

from palaestra.table import Table

MOST_CHARACTERS = 20_000
"""Maximum number of characters of a text on a page."""
MOST_IN_LINE = 1_000
"""Maximum number of characters of a text in a line, or in a cell of a table."""
_HIDDEN = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ud800-\\udfff]"
)
_WIDE = 28
"""Number of characters above which a cell is wide, also on a phone."""
_STACKED = 4
"""Minimum number of columns with which a table does not fit the width of a phone."""
_VOID = frozenset({"br", "input", "link", "meta"})


class Html(str):
    """Markup. Only this module creates it."""

    __slots__ = ()


def text(value: str) -> Html:
    """Escape any text, as markup that shows it."""
    shown = _HIDDEN.sub(lambda found: f"\uf8ff{ord(found[0]):04X}\uf8ff", value.replace("\uf8ff", "\ufffd"))
    parts = html.escape(shown).split("\uf8ff")  # every second part is the number of a hidden character
    return Html("".join(part if place % 2 == 0 else _code_point(part) for place, part in enumerate(parts)))


def _code_point(number: str) -> str:
    return f'<span class="code-point">U+{number}</span>'


def element(tag: str, *children: str, **attributes: str | int | bool | None) -> Html:
    """An element.

    Args:
        tag: The name of the element.
        children: Markup, or text to be escaped.
        attributes: Values by name; `class_` is `class`, and "_" stands for "-". `None` and `False` omit an attribute.
    """
    shown = "".join(_attribute(name, value) for name, value in attributes.items() if value is not None)
    if tag in _VOID:
        return Html(f"<{tag}{shown}>")
    return Html(f"<{tag}{shown}>{join(children)}</{tag}>")


def _attribute(name: str, value: str | int) -> str:
    own = name.rstrip("_").replace("_", "-")
    if isinstance(value, bool):
        return f" {own}" if value else ""
    return f' {own}="{html.escape(_HIDDEN.sub(chr(0xFFFD), str(value)))}"'


def join(parts: Iterable[str], between: str = "") -> Html:
    """Join markup and texts."""
    return Html(text(between).join(part if isinstance(part, Html) else text(part) for part in parts))


def link(words: str, path: str, **attributes: str | int | bool | None) -> Html:
    """A link to a page of the dashboard."""
    return element("a", words, href=path, **attributes)


def address(path: str, **query: str | int | None) -> str:
    """The address of a page of the dashboard; values that are `None` or empty are left out."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return quote(path) + (f"?{urlencode(given, errors='replace')}" if given else "")


def isolate(value: str) -> Html:
    """A short text of unknown origin, isolated so that its writing direction does not affect its neighbours."""
    shown = value if isinstance(value, Html) or len(value) <= MOST_IN_LINE else f"{value[:MOST_IN_LINE]}\u2026"
    return element("bdi", shown)


def block(value: str, *, label: str | None = None) -> Html:
    """A text of unknown origin in a block, cut where it is long."""
    shown = element("pre", value[:MOST_CHARACTERS], dir="auto", tabindex=0, role="group", aria_label=label or "text")
    left = len(value) - MOST_CHARACTERS
    if left <= 0:
        return shown
    return join([shown, element("p", f"{left:,} more characters; the JSON of the episode holds all.", class_="note")])


def table(shown: Table, *, links: Mapping[tuple[int, int], str] | None = None, level: int = 3) -> Html:
    """A table below its title, with its note.

    Args:
        shown: The table; cells may be markup.
        links: Addresses of cells, by row and column.
        level: The level of the heading.
    """
    names = shown.columns
    classes = [_column_class(shown, column) for column in range(len(shown.columns))]
    # On a phone, each row of a table with many or wide columns becomes a block, in which each cell shows the name of
    # its column. Browsers then no longer treat it as a table, so explicit roles are set.
    is_stacked = len(classes) >= _STACKED or "wide" in classes

    def cell(row: int, column: int, words: str) -> Html:
        where = (links or {}).get((row, column))
        shown = words if isinstance(words, Html) else isolate(words)
        content = shown if where is None else link(shown, where)
        tag = "th" if column == 0 else "td"
        scope = "row" if column == 0 else None
        role = "rowheader" if column == 0 else "cell"
        label = names[column] if is_stacked and column else None
        return element(tag, content, scope=scope, class_=classes[column], data_label=label, role=role)

    head = [
        element("th", name, scope="col", class_=classes[place], role="columnheader") for place, name in enumerate(names)
    ]
    rows = [
        element("tr", join(cell(row, column, words) for column, words in enumerate(cells)), role="row")
        for row, cells in enumerate(shown.rows)
    ]
    grid = element(
        "table",
        element("thead", element("tr", join(head), role="row"), role="rowgroup"),
        element("tbody", join(rows), role="rowgroup"),
        class_="grid stacked" if is_stacked else "grid",
        role="table",
    )
    scroll = element("div", grid, class_="scroll", tabindex=0, role="region", aria_label=shown.title)
    note = element("p", shown.note, class_="note") if shown.note else ""
    return element("section", element(f"h{level}", shown.title), scroll, note)


def _column_class(shown: Table, column: int) -> str | None:
    if shown.is_figures(column):
        return "numeric"
    return "wide" if any(len(row[column]) > _WIDE and not isinstance(row[column], Html) for row in shown.rows) else None


def facts(named: Iterable[tuple[str, str]]) -> Html:
    """A list of names with values; names without a value are left out."""
    rows = (
        element("div", element("dt", name), element("dd", value if isinstance(value, Html) else isolate(value)))
        for name, value in named
        if value
    )
    return element("dl", join(rows), class_="facts")


def badge(words: str, kind: str) -> Html:
    """A short highlighted word. `kind` is "passed", "failed", "warn" or "info"."""
    return element("span", words, class_=f"badge {kind}")
