"""What pages of the back office have in common: groups of columns, tabs of rows that name a row, amounts in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from palaestra.envs.surfaces.pages.addresses import Address, write_address
from palaestra.envs.surfaces.pages.generated import LOOK_UP
from palaestra.envs.surfaces.pages.pieces import definition_element, link_element, row_element, words, write_amount
from palaestra.envs.surfaces.pages.routes import LookUp, PageRequest
from palaestra.envs.surfaces.pages.tree import Follow, PageElement
from palaestra.errors import ToolRefusal, UnknownNameError
from palaestra.records import Row, ToolCall

TAB = "tab"
"""What an address asks for beside the row: which of its tabs."""
MOST = 10
"""Rows of a tab that stand on its page; the others are on the list that it leads to."""


def draw_group(request: PageRequest, row: Row, title: str, labels: Mapping[str, str]) -> list[PageElement]:
    """Columns of a row under a heading.

    Args:
        request: The request.
        row: The row.
        title: The heading.
        labels: By column: what the page calls it. Amounts are written in euros as well.
    """
    info = request.schema[row.table]
    found = [PageElement(role="heading", name=title)]
    for column, label in labels.items():
        element = definition_element(info, row, column, label=label)
        if column.endswith("_cents"):
            element = replace(element, value=write_amount(getattr(row, column)))
        found.append(element)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTab:
    """A tab of a row's page: the rows of another table that name it."""

    table: str
    column: str
    """The column that names the row."""
    label: str
    columns: tuple[str, ...] | None = None
    """The columns that it shows beside ids; all if not said. What decisions need stands on the rows' own pages."""
    forms: Mapping[str, str] = field(default_factory=dict[str, str])
    """By action that takes the id of such a row: the argument. Each row has a link to its form."""


def look_up_tab(tabs: Sequence[RowTab]) -> LookUp:
    """The look-up that opening a tab makes, as opening the list of its rows does: an empty one is an answer too."""
    by_table = {tab.table: tab for tab in tabs}

    def look_up(address: Address) -> ToolCall | None:
        tab = by_table.get(address.query.get(TAB, ""))
        if tab is None:
            return None
        return ToolCall(tool=LOOK_UP, arguments={"table": tab.table, "where": {tab.column: address.path[-1]}})

    return look_up


def draw_tabs(request: PageRequest, row: Row, tabs: Sequence[RowTab]) -> list[PageElement]:
    """The tabs of a row's page, and the rows of the one that the address asks for, or of the first.

    Raises:
        ToolRefusal: the address asks for a tab that there is not.
    """
    names = [tab.table for tab in tabs]
    asked = request.address.query.get(TAB, names[0])
    if asked not in names:
        raise ToolRefusal("not_found", str(UnknownNameError.of("tab", asked, names)))
    rows = {tab.table: request.state.find(request.schema[tab.table].kind, **{tab.column: row.id}) for tab in tabs}
    links = tuple(
        PageElement(
            role="tab",
            id=f"tab.{tab.table}",
            name=f"{tab.label} ({len(rows[tab.table])})",
            value="selected" if tab.table == asked else "",
            activation=Follow(url=write_address(row.table, row.id, query={TAB: tab.table})),
        )
        for tab in tabs
    )
    shown = next(tab for tab in tabs if tab.table == asked)
    return [
        PageElement(role="navigation", name=f"About {row.id}", children=links),
        *_draw_rows(request, row, shown, rows[asked]),
    ]


def _draw_rows(request: PageRequest, row: Row, tab: RowTab, rows: Sequence[Row]) -> list[PageElement]:
    info = request.schema[tab.table]
    if not rows:
        return [PageElement(role="text", value=f"No {tab.label.lower()}.")]
    lines = tuple(
        row_element(
            info,
            one,
            columns=tab.columns,
            more=[
                link_element(f"{action}.{one.id}", words(action), write_address("do", action, query={argument: one.id}))
                for action, argument in tab.forms.items()
            ],
        )
        for one in rows[:MOST]
    )
    table = PageElement(role="table", name=tab.label, children=lines)
    if len(rows) <= MOST:
        return [table]
    url = write_address(tab.table, query={tab.column: row.id})
    more = link_element(f"list.{tab.table}", f"All {len(rows)}", url)
    return [table, PageElement(role="navigation", name=tab.label, children=(more,))]


def draw_actions(request: PageRequest) -> list[PageElement]:
    """The forms that take the id of the page's row."""
    return [PageElement(role="navigation", name="Actions", children=tuple(request.actions))] if request.actions else []
