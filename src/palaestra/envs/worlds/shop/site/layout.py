"""What pages of the shop have in common: values in words, facts under a heading, lines of tables, links."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from palaestra.envs.kit import amount
from palaestra.envs.state import TableInfo
from palaestra.envs.surfaces.pages.addresses import write_address
from palaestra.envs.surfaces.pages.pieces import (
    column_text,
    definition_element,
    link_element,
    shown_column,
    write_amount,
)
from palaestra.envs.surfaces.pages.routes import PageRequest
from palaestra.envs.surfaces.pages.tree import PageElement, Submit
from palaestra.records import Row

NOTHING = "none"
"""What stands where a column holds nothing."""
ARTICLE_COLUMNS = {
    "brand": "Brand",
    "colour": "Colour",
    "edition": "Edition",
    "price_cents": "Price",
    "rating": "Rating",
    "category": "Category",
}
"""What lists show of an article, as searches by tool do. Stock and lead days stand on the article's own page."""


def write_value(info: TableInfo, row: Row, column: str) -> str:
    """A column's value as a customer reads it."""
    value = getattr(row, column)
    if value is None or value == "":
        return NOTHING
    if column.endswith("_cents"):
        return amount(value)
    if column == "rating":
        return f"{value // 10}.{value % 10} of 5"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.isoformat(" ", "minutes")
    text = column_text(value)
    return text.replace("_", " ") if info.columns[column].choices else text


def draw_facts(request: PageRequest, row: Row, title: str, labels: Mapping[str, str]) -> list[PageElement]:
    """Columns of a row under a heading.

    Args:
        request: The request.
        row: The row.
        title: The heading.
        labels: By column: what the page calls it. Amounts are written in cents as well, which forms and records have.
    """
    info = request.schema[row.table]
    found = [PageElement(role="heading", name=title)]
    for column, label in labels.items():
        element = definition_element(info, row, column, label=label)
        if not element.children:
            cents = column.endswith("_cents")
            text = write_amount(getattr(row, column)) if cents else write_value(info, row, column)
            element = replace(element, value=text)
        found.append(element)
    return found


def draw_filled(request: PageRequest, row: Row, title: str, labels: Mapping[str, str]) -> list[PageElement]:
    """As `draw_facts`; the columns that mean nothing for the row stand in one line."""
    info = request.schema[row.table]
    empty = [column for column in labels if getattr(row, column) in ("", 0, None)]
    filled = {column: label for column, label in labels.items() if column not in empty}
    none = PageElement(
        role="definition",
        name="Not specified",
        value=", ".join(labels[column] for column in empty),
        shows=tuple(shown_column(info, row, column) for column in empty),
    )
    return [*draw_facts(request, row, title, filled), *([none] if empty else [])]


def draw_line(
    info: TableInfo,
    row: Row,
    labels: Mapping[str, str],
    *,
    title: str = "id",
    url: str = "",
    more: Sequence[PageElement] = (),
) -> PageElement:
    """A row as a line of a table.

    Args:
        info: The row's table.
        row: The row.
        labels: By column: what the page calls it.
        title: The column whose value is the text of the line's link; the id stands beside it.
        url: Where the link leads; to the row's page if not said.
        more: What stands behind the columns.
    """
    shows = [shown_column(info, row, "id"), *([shown_column(info, row, title)] if title != "id" else [])]
    link = PageElement(
        role="link",
        id=f"row.{row.id}",
        name=str(getattr(row, title)),
        value=row.id if title != "id" else "",
        shows=tuple(shows),
        activation=link_element("", "", url or write_address(info.name, row.id)).activation,
    )
    cells = [
        PageElement(
            role="cell", name=label, value=write_value(info, row, column), shows=(shown_column(info, row, column),)
        )
        for column, label in labels.items()
    ]
    return PageElement(role="row", children=(link, *cells, *more))


def draw_table(name: str, lines: Sequence[PageElement], *, empty: str) -> PageElement:
    """Lines as a table; a sentence where there are none."""
    return (
        PageElement(role="table", name=name, children=tuple(lines)) if lines else PageElement(role="text", value=empty)
    )


def draw_links(name: str, *links: PageElement) -> PageElement:
    """Links to further pages, in one line."""
    return PageElement(role="navigation", name=name, children=links)


def draw_lead(id: str, name: str, url: str) -> PageElement:
    """A button that leads to the page on which most go on."""
    button = PageElement(role="button", id=id, name=name, activation=Submit(action="", fields=(), url=url))
    return PageElement(role="form", name=name, children=(button,))
