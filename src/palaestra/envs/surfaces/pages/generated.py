"""A site for any world, worked out from its schema and its tools.

- `/` lists the tables and the actions.
- `/TABLE` lists rows, ten a page, with a search field and a filter for each column that holds one of a few values.
- `/TABLE/ID` shows a row, and leads to lists of the rows that name it and to the actions that take its id.
- `/do/ACTION` is the form of an action; what comes of it stands in a dialog, or in an alert where it is refused.

A tool that declares which rows it reads has no form: its rows stand on lists and on pages of rows.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime
from typing import Any, cast

import orjson

from palaestra.digest import as_json
from palaestra.envs.state import Schema, TableInfo
from palaestra.envs.state.query import Scalar, select
from palaestra.envs.surfaces.pages.addresses import Address, read_address, write_address
from palaestra.envs.surfaces.pages.forms import field_element, form_fields
from palaestra.envs.surfaces.pages.session import Tab
from palaestra.envs.surfaces.pages.tree import Field, Follow, Page, PageElement, ShownRow, Submit
from palaestra.errors import ToolRefusal, UnknownNameError
from palaestra.protocols import StateView
from palaestra.records import Row, ToolCall
from palaestra.tools import Tool, Toolbox

DO = "do"
"""The first step of an action's address."""
PER_PAGE = 10
"""Rows of a list that stand on one page."""
ANY = "any"
"""The option of a filter that lets every row through."""
SEARCH, AFTER = "search", "after"
"""What an address of a list asks for beside conditions: words, and the id after which the list goes on."""
LOOK_UP = "query"
"""The generic tool that a list's address calls, so that a look-up is the same event on every surface."""
_LONGEST_CELL = 120


class GeneratedSite:
    """The site of a schema and the actions on it.

    Args:
        schema: The tables.
        actions: The tools that have forms.
        role: The role of whoever uses the site: forms of actions that are not open to it are left out.
    """

    def __init__(self, schema: Schema, actions: Toolbox, role: str) -> None:
        self._schema = schema
        self._actions = {tool.name: tool for tool in actions.offered(role)}
        self._forms = {name: form_fields(tool) for name, tool in self._actions.items()}
        self._navigation = self._draw_navigation()
        self._home = self._draw_home()

    def page(self, state: StateView, tab: Tab) -> Page:
        """See `Site`."""
        address = read_address(tab.url)
        match address.path:
            case ():
                title, elements = "Home", self._home
            case (step, action) if step == DO and action in self._actions:
                title, elements = _words(action), self._form(tab, address, self._actions[action])
            case (table,) if table in self._schema.tables:
                title, elements = _words(table), self._list(state, tab, address, self._schema[table])
            case (table, key) if table in self._schema.tables:
                title, elements = self._row(state, self._schema[table], key)
            case _:
                raise self._unknown(address)
        return Page(url=tab.url, title=title, elements=(self._navigation, *elements))

    def columns(self, table: str) -> AbstractSet[str]:
        """See `Site`."""
        return self._schema[table].columns.keys()

    def named(self, url: str) -> tuple[str, ...]:
        """See `Site`: the id of a row's address, and those of conditions and prefilled fields."""
        address = read_address(url)
        match address.path:
            case (step, action) if step == DO and action in self._actions:
                references = self._actions[action].references
                return tuple(value for name, value in address.query.items() if name in references)
            case (table, key) if table in self._schema.tables:
                return (key,)
            case (table,) if table in self._schema.tables:
                ids = {"id", *self._schema[table].references}
                return tuple(value for name, value in address.query.items() if name.partition(" ")[0] in ids)
            case _:
                return ()

    def _unknown(self, address: Address) -> ToolRefusal:
        step = address.path[0]
        known = self._actions if step == DO and len(address.path) > 1 else [DO, *self._schema.tables]
        wrong = address.path[1] if step == DO and len(address.path) > 1 else step
        kind = "action" if known is self._actions else "page"
        return ToolRefusal("not_found", str(UnknownNameError.of(kind, wrong, known)))

    def look_up(self, url: str) -> ToolCall | None:
        """See `Site`: opening a list asks for its rows, and finding none is an answer too."""
        address = read_address(url)
        if len(address.path) != 1 or address.path[0] not in self._schema.tables:
            return None
        info = self._schema[address.path[0]]
        where = self._conditions(info, address)
        arguments: dict[str, Any] = {"table": info.name, **({"where": where} if where else {})}
        if search := address.query.get(SEARCH):
            arguments["search"] = search
        if after := address.query.get(AFTER):
            arguments["cursor"] = after
        return ToolCall(tool=LOOK_UP, arguments=arguments)

    def _conditions(self, info: TableInfo, address: Address) -> dict[str, Scalar | list[Scalar]]:
        """What an address of a list asks of rows."""
        asked = {name: value for name, value in address.query.items() if name not in (SEARCH, AFTER)}
        return {name: _condition_value(info, name, text) for name, text in asked.items()}

    # pages

    def _draw_navigation(self) -> PageElement:
        links = [PageElement(role="link", id="nav.home", name="Home", activation=Follow(url="/"))]
        links += [
            PageElement(role="link", id=f"nav.{name}", name=_words(name), activation=Follow(url=write_address(name)))
            for name in self._schema.tables
        ]
        return PageElement(role="navigation", name="Tables", children=tuple(links))

    def _draw_home(self) -> tuple[PageElement, ...]:
        return (
            PageElement(role="heading", name="Actions"),
            PageElement(
                role="list",
                children=tuple(
                    PageElement(
                        role="link",
                        id=f"do.{name}",
                        name=_words(name),
                        value=_first_sentence(tool.description),
                        activation=Follow(url=write_address(DO, name)),
                    )
                    for name, tool in self._actions.items()
                ),
            ),
        )

    def _list(self, state: StateView, tab: Tab, address: Address, info: TableInfo) -> tuple[PageElement, ...]:
        search = address.query.get(SEARCH, "")
        rows = select(state, info, self._conditions(info, address), search)
        first = sum(row.id <= address.query.get(AFTER, "") for row in rows)
        shown = rows[first : first + PER_PAGE]
        asked = [f"{name} {value}" for name, value in address.query.items() if name not in (SEARCH, AFTER)]
        said = ", ".join([*asked, *([f'with "{search}"'] if search else [])])
        counted = f"{first + 1} to {first + len(shown)} of {len(rows)}" if shown else "none"
        turning: list[PageElement] = []
        if len(rows) > first + PER_PAGE:
            url = write_address(info.name, query={**address.query, AFTER: shown[-1].id})
            turning.append(PageElement(role="link", id="list.next", name="next", activation=Follow(url=url)))
        return (
            PageElement(role="heading", name=f"{_words(info.name)}{' where ' + said if said else ''}: {counted}"),
            self._search(tab, address, info),
            self._table(info, shown, _words(info.name)),
            *([PageElement(role="navigation", name="Pages", children=tuple(turning))] if turning else []),
        )

    def _search(self, tab: Tab, address: Address, info: TableInfo) -> PageElement:
        """The form that narrows a list."""
        names = ([SEARCH] if info.searchable else []) + [name for name in info.columns if _choices(info, name)]
        fields = tuple(
            Field(element=f"filter.{name}", argument=name, schema={"type": "string"}, required=False) for name in names
        )
        parts = [
            PageElement(
                role="searchbox" if field.argument == SEARCH else "combobox",
                id=field.element,
                name=field.argument,
                value=tab.value_of(field.element, address.query.get(field.argument, "")),
                options=() if field.argument == SEARCH else (ANY, *_choices(info, field.argument)),
            )
            for field in fields
        ]
        kept = tuple((n, value) for n, value in address.query.items() if n != AFTER and n not in names)
        send = Submit(action="", fields=fields, url=write_address(info.name), kept=kept)
        find = PageElement(role="button", id="filter.find", name="Find", activation=send)
        return PageElement(role="search", name=f"Find {_words(info.name).lower()}", children=(*parts, find))

    def _row(self, state: StateView, info: TableInfo, key: str) -> tuple[str, tuple[PageElement, ...]]:
        row: Row | None = state.peek(info.kind, key)
        if row is None:
            raise ToolRefusal("not_found", f"{info.name} has no row {key!r:.60}")
        elements: list[PageElement] = [PageElement(role="heading", name=f"{_words(info.name)}: {key}")]
        elements += [self._definition(info, row, name) for name in info.columns]
        referring = [
            PageElement(
                role="link",
                id=f"list.{other.name}.{column}",
                name=f"{_words(other.name)} by {column}",
                activation=Follow(url=write_address(other.name, query={column: key})),
            )
            for other in self._schema
            for column in other.references
            if other.columns[column].references == info.name
        ]
        if referring:
            elements.append(PageElement(role="navigation", name="Rows that name it", children=tuple(referring)))
        links = [
            PageElement(
                role="link",
                id=f"do.{name}",
                name=_words(name),
                activation=Follow(url=write_address(DO, name, query={argument: key})),
            )
            for name, tool in self._actions.items()
            for argument, table in tool.references.items()
            if table == info.name and _is_single(tool, argument)
        ]
        if links:
            elements.append(PageElement(role="navigation", name="Actions", children=tuple(_without_repetition(links))))
        return f"{_words(info.name)}: {key}", tuple(elements)

    def _definition(self, info: TableInfo, row: Row, name: str) -> PageElement:
        """A column of a row with its whole value."""
        table, value = info.columns[name].references, getattr(row, name)
        shows = (_shown(info, row, name),)
        if table is None or value is None:
            return PageElement(role="definition", name=name, value=column_text(value), shows=shows)
        link = PageElement(
            role="link",
            id=f"of.{name}",
            name=column_text(value),
            activation=Follow(url=write_address(table, str(value))),
        )
        return PageElement(role="definition", name=name, shows=shows, children=(link,))

    def _table(self, info: TableInfo, rows: Sequence[Row], name: str) -> PageElement:
        return PageElement(role="table", name=name, children=tuple(self._line(info, row) for row in rows))

    def _line(self, info: TableInfo, row: Row) -> PageElement:
        """A row of a list: its id, which leads to its page, and its other columns as far as they are short."""
        cells = [
            PageElement(
                role="link",
                id=f"row.{row.id}",
                name=row.id,
                activation=Follow(url=write_address(info.name, row.id)),
                shows=(_shown(info, row, "id"),),
            )
        ]
        for name in info.columns:
            text = column_text(getattr(row, name))
            if name == "id":
                continue
            whole = fits_cell(text)
            shows = (_shown(info, row, name),) if whole else ()
            shown = text if whole else f"{text[:_LONGEST_CELL].splitlines()[0]} ..."
            if text or not whole:
                cells.append(PageElement(role="cell", name=name, value=shown, shows=shows))
            else:  # an empty cell says nothing in words, and a reader of the line knows that it is empty
                cells[0] = _with_shown(cells[0], row, name)
        return PageElement(role="row", children=tuple(cells))

    def _form(self, tab: Tab, address: Address, tool: Tool) -> tuple[PageElement, ...]:
        fields = self._forms[tool.name]
        parts = [
            field_element(field, tab.value_of(field.element, address.query.get(field.argument, ""))) for field in fields
        ]
        send = Submit(action=tool.name, fields=fields)
        button = PageElement(role="button", id="send", name=_words(tool.name), activation=send)
        return (
            PageElement(role="heading", name=_words(tool.name)),
            PageElement(role="text", value=tool.description),
            *(
                PageElement(role="text", value=f"{field.argument}: {field.schema['description']}")
                for field in fields
                if field.schema.get("description")
            ),
            PageElement(role="form", name=_words(tool.name), children=(*parts, button)),
        )


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


def _words(name: str) -> str:
    """A name in words: "order_lines" as "Order lines"."""
    return name.replace("_", " ").capitalize()


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".")


def _choices(info: TableInfo, name: str) -> tuple[str, ...]:
    """The few values that a column may hold; none where they are not few."""
    column = info.columns[name]
    if column.type is bool:
        return ("true", "false")
    return column.choices if column.type is str else ()


def _condition_value(info: TableInfo, name: str, text: str) -> Scalar | list[Scalar]:
    """A condition's value of the type that its column takes; the column refuses what does not fit."""
    column, _, operator = name.partition(" ")
    if column not in info.columns or info.columns[column].type in (str, date, datetime):
        return cast("list[Scalar]", text.split(",")) if operator == "in" else text
    try:
        value: Scalar | list[Scalar] = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return value


def _is_single(tool: Tool, argument: str) -> bool:
    """Whether an argument is one id, not a list of them."""
    properties = cast("Mapping[str, Mapping[str, Any]]", tool.parameters["properties"])
    return str(properties[argument].get("type", "string")) == "string"


def _without_repetition(links: Sequence[PageElement]) -> list[PageElement]:
    """The first link of each id: an action that takes two ids of one table is offered for the first."""
    first: dict[str, PageElement] = {}
    for link in links:
        first.setdefault(link.id, link)
    return list(first.values())


def _with_shown(link: PageElement, row: Row, column: str) -> PageElement:
    shown = link.shows[0]
    return PageElement(
        role=link.role,
        id=link.id,
        name=link.name,
        activation=link.activation,
        shows=(ShownRow(row=row, columns=(*shown.columns, column), ids=shown.ids),),
    )


def _shown(info: TableInfo, row: Row, column: str) -> ShownRow:
    """A column of a row, and the id that its value is."""
    value = getattr(row, column)
    states_id = value is not None and (column == "id" or info.columns[column].references is not None)
    return ShownRow(row=row, columns=(column,), ids=(str(value),) if states_id else ())
