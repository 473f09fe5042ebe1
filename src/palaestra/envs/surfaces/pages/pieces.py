"""Parts of pages, drawn from rows: a column with its value, a row of a list, a table, and what each makes known."""

from collections.abc import Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any

import orjson

from palaestra.digest import as_json
from palaestra.envs.state import TableInfo
from palaestra.envs.surfaces.pages.addresses import write_address
from palaestra.envs.surfaces.pages.tree import Follow, PageElement, ShownRow
from palaestra.records import Row

_LONGEST_CELL = 120


def link_element(id: str, name: str, url: str, *, value: str = "") -> PageElement:
    """A link to another page of the site.

    Args:
        id: What actions name it by.
        name: Its text.
        url: Where it leads.
        value: What is said beside it.
    """
    return PageElement(role="link", id=id, name=name, value=value, activation=Follow(url=url))


def definition_element(info: TableInfo, row: Row, column: str, *, label: str = "") -> PageElement:
    """A column of a row with its whole value; an id of another row leads to its page.

    Args:
        info: The row's table.
        row: The row.
        column: Which column.
        label: What the page calls it; the column's name if not said.
    """
    table, value = info.columns[column].references, getattr(row, column)
    shows = (shown_column(info, row, column),)
    name = label or column
    if table is None or value is None:
        return PageElement(role="definition", name=name, value=column_text(value), shows=shows)
    link = link_element(f"of.{column}", column_text(value), write_address(table, str(value)))
    return PageElement(role="definition", name=name, shows=shows, children=(link,))


def table_element(info: TableInfo, rows: Iterable[Row], name: str) -> PageElement:
    """Rows of a table, a line each."""
    return PageElement(role="table", name=name, children=tuple(row_element(info, row) for row in rows))


def row_element(
    info: TableInfo, row: Row, *, columns: Collection[str] | None = None, more: Sequence[PageElement] = ()
) -> PageElement:
    """A row of a list: its id, which leads to its page, and its other columns as far as they are short.

    Args:
        info: The row's table.
        row: The row.
        columns: Which columns stand there beside the id; all of them if not said.
        more: What stands behind the columns, such as links to actions.
    """
    url = write_address(info.name, row.id)
    shows: tuple[ShownRow, ...] = (shown_column(info, row, "id"),)
    cells = [PageElement(role="link", id=f"row.{row.id}", name=row.id, activation=Follow(url=url), shows=shows)]
    for name in info.columns:
        text = column_text(getattr(row, name))
        if name == "id" or (columns is not None and name not in columns):
            continue
        whole = fits_cell(text)
        shows = (shown_column(info, row, name),) if whole else ()
        shown = text if whole else f"{text[:_LONGEST_CELL].splitlines()[0]} ..."
        if text or not whole:
            cells.append(PageElement(role="cell", name=name, value=shown, shows=shows))
        else:  # an empty cell says nothing in words, and a reader of the line knows that it is empty
            cells[0] = _with_shown(cells[0], row, name)
    return PageElement(role="row", children=(*cells, *more))


def shown_column(info: TableInfo, row: Row, column: str) -> ShownRow:
    """A column of a row, and the id that its value is."""
    value = getattr(row, column)
    states_id = value is not None and (column == "id" or info.columns[column].references is not None)
    return ShownRow(row=row, columns=(column,), ids=(str(value),) if states_id else ())


def write_amount(cents: int) -> str:
    """An amount in euros, and in cents, which forms take."""
    return f"EUR {cents // 100:,}.{cents % 100:02} ({cents} cents)"


def words(name: str) -> str:
    """A name in words: "order_lines" as "Order lines"."""
    return name.replace("_", " ").capitalize()


def fits_cell(text: str) -> bool:
    """Whether a list shows a text whole; a longer one is cut there, and stands whole on the row's own page."""
    return len(text) <= _LONGEST_CELL and "\n" not in text


def column_text(value: Any) -> str:
    """A column's value as a page writes it; nothing for no value."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, date | datetime):
        return value.isoformat()
    return orjson.dumps(value, default=as_json).decode()


def _with_shown(link: PageElement, row: Row, column: str) -> PageElement:
    shown = link.shows[0]
    return PageElement(
        role=link.role,
        id=link.id,
        name=link.name,
        activation=link.activation,
        shows=(ShownRow(row=row, columns=(*shown.columns, column), ids=shown.ids),),
    )
