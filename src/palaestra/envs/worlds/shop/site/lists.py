"""Lists of the shop: what an address asks for, a form that narrows it, ten rows, and a link to the next ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from palaestra.envs.state import TableInfo
from palaestra.envs.state.query import select
from palaestra.envs.surfaces.pages.addresses import ANY, Address, write_address
from palaestra.envs.surfaces.pages.generated import AFTER, SEARCH, look_up_list, read_conditions
from palaestra.envs.surfaces.pages.pieces import link_element, words
from palaestra.envs.surfaces.pages.routes import DrawPage, LookUp, PageRequest
from palaestra.envs.surfaces.pages.tree import Field, Follow, PageElement, Submit
from palaestra.envs.worlds.shop.schema import SCHEMA
from palaestra.envs.worlds.shop.site.layout import draw_line, draw_links, draw_table
from palaestra.errors import ToolRefusal, UnknownNameError
from palaestra.records import Row, ToolCall

SORT, SKIP = "sort", "skip"
"""What an address of a sorted list asks for beside: by what, and how many rows stand before its first."""
SortKey: TypeAlias = Callable[[Any], int]
"""What rows are sorted by, the smallest first. Any: it reads columns of its own table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facet:
    """A field that narrows a list."""

    name: str
    """Its element is `filter.<name>`."""
    condition: str
    """The condition that it asks for, such as `price_cents <=`; `SEARCH` for words."""
    label: str
    options: tuple[str, ...] = ()
    """The only values that it offers; it takes any text where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShopList:
    """A list of a table's rows."""

    table: str
    name: str
    """Its heading."""
    columns: Mapping[str, str]
    """The columns that it shows, and what it calls them. Those that the address asks for stand there as well."""
    title: str = "id"
    """The column that names a row."""
    facets: tuple[Facet, ...] = ()
    sorts: Mapping[str, SortKey] = field(default_factory=dict[str, SortKey])
    """By name: what it can be sorted by, beside the id."""
    most: int = 0
    """Rows that stand on one page at least."""


def look_up_rows(table: str) -> LookUp:
    """The look-up that opening a list makes. Another order of the same rows is the same look-up."""
    return partial(_look_up, SCHEMA[table])


def _look_up(info: TableInfo, address: Address) -> ToolCall:
    return look_up_list(info, _drop_order(address))


def _drop_order(address: Address) -> Address:
    """The address without what it says of order."""
    return Address(path=address.path, query={n: v for n, v in address.query.items() if n not in (SORT, SKIP)})


def draw_rows(shop_list: ShopList) -> DrawPage:
    """The function that draws a list's page."""
    return lambda request: (shop_list.name, draw_list(request, shop_list))


def draw_list(request: PageRequest, shop_list: ShopList) -> list[PageElement]:
    """The elements of a list: heading, form, orders to choose from, rows, and the link to the next rows.

    Raises:
        ToolRefusal: the address asks for a column, a value or an order that there is not.
    """
    info, address = request.schema[shop_list.table], request.address
    asked = _drop_order(address)
    rows: list[Row] = select(request.state, info, read_conditions(info, asked), asked.query.get(SEARCH, ""))
    most = max(shop_list.most, request.per_page)
    first, rows = _order(shop_list, address, rows)
    shown = rows[first : first + most]
    counted = f"{first + 1} to {first + len(shown)} of {len(rows)}" if shown else "none"
    elements = [PageElement(role="heading", name=f"{shop_list.name}: {counted}")]
    if shop_list.facets:
        elements.append(draw_facets(shop_list.table, shop_list.facets, address))
    if shop_list.sorts:
        elements.append(_draw_orders(shop_list, address))
    shown_already = {"id", shop_list.title, *shop_list.columns}
    besides = {name: words(name) for name in asked.query if name in info.columns and name not in shown_already}
    columns = {**shop_list.columns, **besides}
    lines = [draw_line(info, row, columns, title=shop_list.title) for row in shown]
    elements.append(draw_table(shop_list.name, lines, empty="Nothing fits."))
    if len(rows) > first + most:
        place = {SKIP: str(first + most)} if SORT in address.query else {AFTER: shown[-1].id}
        url = write_address(shop_list.table, query={**address.query, **place})
        elements.append(draw_links("Pages", link_element("list.next", "Next page", url)))
    return elements


def draw_facets(table: str, facets: Sequence[Facet], address: Address) -> PageElement:
    """The form that narrows a list. What the address asks for besides stays asked for.

    Args:
        table: The table that is listed.
        facets: Its fields.
        address: What the page asks for now.
    """
    parts = [
        PageElement(
            role="searchbox" if facet.condition == SEARCH else "combobox" if facet.options else "textbox",
            id=f"filter.{facet.name}",
            name=facet.label,
            value=address.query.get(facet.condition, ANY if facet.options else ""),
            options=(ANY, *facet.options) if facet.options else (),
        )
        for facet in facets
    ]
    fields = tuple(
        Field(element=f"filter.{facet.name}", argument=facet.condition, schema={"type": "string"}, required=False)
        for facet in facets
    )
    besides = {facet.condition for facet in facets} | {AFTER, SKIP}
    kept = tuple((name, value) for name, value in address.query.items() if name not in besides)
    send = Submit(action="", fields=fields, url=write_address(table), kept=kept)
    find = PageElement(role="button", id="filter.find", name="Find", activation=send)
    return PageElement(role="search", name="Find", children=(*parts, find))


def draw_choice(name: str, choices: Mapping[str, tuple[str, str]], chosen: str) -> PageElement:
    """Tabs of which one is chosen.

    Args:
        name: What they choose.
        choices: By the tab's id: its text and the address that it leads to.
        chosen: The id of the one that is chosen.
    """
    tabs = [
        PageElement(role="tab", id=id, name=text, value="selected" if id == chosen else "", activation=Follow(url=url))
        for id, (text, url) in choices.items()
    ]
    return draw_links(name, *tabs)


def _order(shop_list: ShopList, address: Address, rows: list[Row]) -> tuple[int, list[Row]]:
    """Where the page begins, and the rows in the order that the address asks for."""
    by = address.query.get(SORT)
    if by is None:
        return sum(row.id <= address.query.get(AFTER, "") for row in rows), rows
    if by not in shop_list.sorts:
        raise ToolRefusal("not_found", str(UnknownNameError.of("order", by, shop_list.sorts)))
    skip = address.query.get(SKIP, "0")
    if not skip.isdecimal():
        raise ToolRefusal("bad_address", f"{SKIP}={skip!r:.40} is no number of rows; write one such as {SKIP}=10")
    return min(int(skip[:9]), len(rows)), sorted(rows, key=shop_list.sorts[by])


def _draw_orders(shop_list: ShopList, address: Address) -> PageElement:
    asked = {name: value for name, value in address.query.items() if name not in (SORT, SKIP, AFTER)}
    choices = {"sort.number": ("article number", write_address(shop_list.table, query=asked))}
    for by in shop_list.sorts:
        choices[f"sort.{by}"] = (by, write_address(shop_list.table, query={**asked, SORT: by}))
    return draw_choice("Sort by", choices, f"sort.{address.query.get(SORT, 'number')}")
