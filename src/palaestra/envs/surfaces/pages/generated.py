"""A site for any world, worked out from its schema and its tools.

- `/` lists the tables and the actions.
- `/TABLE` lists rows, ten a page, with a search field and a filter for each column that holds one of a few values.
- `/TABLE/ID` shows a row, and leads to lists of the rows that name it and to the actions that take its id.
- `/do/ACTION` is the form of an action; what comes of it stands in a dialog, or in an alert where it is refused. A form
  that is reviewed leads to `/do/ACTION/review`, which shows what was entered and sends it.

A tool that declares which rows it reads has no form: its rows stand on lists and on pages of rows. Pages made by hand
(`Route`) stand in place of generated ones.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import date, datetime
from typing import Any, cast

import orjson

from palaestra.envs.state import Schema, TableInfo
from palaestra.envs.state.query import Scalar, select
from palaestra.envs.surfaces.pages.addresses import ANY, Address, read_address, write_address
from palaestra.envs.surfaces.pages.forms import field_element, form_fields
from palaestra.envs.surfaces.pages.pieces import definition_element, link_element, table_element, words
from palaestra.envs.surfaces.pages.routes import PageRequest, Route
from palaestra.envs.surfaces.pages.session import Tab, ThreadMessage
from palaestra.envs.surfaces.pages.site import FormPage
from palaestra.envs.surfaces.pages.tree import FIELDS, Field, Follow, Page, PageElement, Submit
from palaestra.envs.surfaces.pages.variation import PER_PAGE, PageVariation, vary_page
from palaestra.errors import DefinitionError, ToolRefusal, UnknownNameError
from palaestra.protocols import StateView
from palaestra.records import Row, ToolCall
from palaestra.tools import Tool, Toolbox

DO = "do"
"""The first step of an action's address."""
SEARCH, AFTER = "search", "after"
"""What an address of a list asks for beside conditions: words, and the id after which the list goes on."""
REVIEW = "review"
"""The last step of the address on which an action is reviewed."""
SEND, CONTINUE = "send", "continue"
"""The ids of the buttons of a form: one sends it, the other leads to its review."""
LOOK_UP = "query"
"""The generic tool that a list's address calls, so that a look-up is the same event on every surface."""


class GeneratedSite:
    """The site of a schema and the actions on it.

    Args:
        schema: The tables.
        actions: The tools that have forms.
        role: The role of whoever uses the site: forms of actions that are not open to it are left out.
        routes: Pages made by hand; the first that fits an address is drawn.
        reviewed: The names of actions whose form is reviewed before it is sent.
        navigation: Links that stand on top of every page; to all tables if not said.
        variation: How its pages look; as they are made if `None`.

    Raises:
        DefinitionError: an action that is to be reviewed has no form.
    """

    def __init__(
        self,
        schema: Schema,
        actions: Toolbox,
        role: str,
        *,
        routes: Sequence[Route] = (),
        reviewed: Collection[str] = (),
        navigation: Sequence[PageElement] = (),
        variation: PageVariation | None = None,
    ) -> None:
        self._schema = schema
        self._routes = routes
        self._reviewed = frozenset(reviewed)
        self._variation = variation
        self.per_page = PER_PAGE if variation is None else variation.per_page
        self._wizard = 0 if variation is None else variation.wizard
        self._actions = {tool.name: tool for tool in actions.tools_for(role)}
        # Of all actions: solutions and attacks may name one that is closed to the role, and its form is then refused.
        self._forms = {tool.name: form_fields(tool) for tool in actions}
        if unknown := sorted(self._reviewed - self._actions.keys()):
            raise DefinitionError(str(UnknownNameError.of("reviewed action", unknown[0], self._actions)))
        self._navigation = self._draw_navigation(navigation)
        self._action_links = self._draw_actions()
        self._home = (
            PageElement(role="heading", name="Actions"),
            PageElement(role="list", children=self._action_links),
        )

    def page(self, state: StateView, tab: Tab, thread: Sequence[ThreadMessage] = ()) -> Page:
        """See `Site`."""
        page = self._draw_page(state, tab, thread)
        return page if self._variation is None else vary_page(page, self._variation)

    def _draw_page(self, state: StateView, tab: Tab, thread: Sequence[ThreadMessage]) -> Page:
        address = read_address(tab.url)
        for route in self._routes:
            if (parts := route.match(address.path)) is not None:
                title, drawn = route.draw(self._request(state, address, parts, thread))
                filled = (_fill_in(element, tab) for element in drawn) if tab.values else drawn
                return Page(url=tab.url, title=title, elements=(self._navigation, *filled))
        elements: tuple[PageElement, ...]
        match address.path:
            case ():
                title, elements = "Home", self._home
            case (step, action) if step == DO and action in self._actions:
                title, elements = words(action), self._form(tab, address, self._actions[action])
            case (step, action, last) if step == DO and last == REVIEW and action in self._reviewed:
                title, elements = f"Review: {words(action)}", self._review(state, address, self._actions[action])
            case (step, action, number) if step == DO and self._is_form_page(action, number):
                title, elements = words(action), self._form(tab, address, self._actions[action], int(number) - 1)
            case (table,) if table in self._schema.tables:
                title, elements = words(table), self._list(state, tab, address, self._schema[table])
            case (table, key) if table in self._schema.tables:
                title, elements = self._row(state, self._schema[table], key)
            case _:
                raise self._unknown(address)
        return Page(url=tab.url, title=title, elements=(self._navigation, *elements))

    def columns(self, table: str) -> AbstractSet[str]:
        """See `Site`."""
        return self._schema[table].columns.keys()

    def address_ids(self, url: str) -> tuple[str, ...]:
        """See `Site`: the id of a row's address, and those of conditions and prefilled fields."""
        address = read_address(url)
        match address.path:
            case (step, action, *_) if step == DO and action in self._actions:
                references = self._actions[action].references
                return tuple(value for name, value in address.query.items() if name in references)
            case (table, key) if table in self._schema.tables:
                return (key,)
            case (table,) if table in self._schema.tables:
                ids = {"id", AFTER, *self._schema[table].references}
                return tuple(value for name, value in address.query.items() if name.partition(" ")[0] in ids)
            case _:
                return ()

    def _unknown(self, address: Address) -> ToolRefusal:
        first, *rest = address.path
        if first == DO and len(rest) > 1:
            url = write_address(*address.path)
            return ToolRefusal("not_found", f"{url}: no such page; a form is at /{DO}/ACTION")
        if first == DO and rest:
            return ToolRefusal("not_found", str(UnknownNameError.of("action", rest[0], self._actions)))
        return ToolRefusal("not_found", str(UnknownNameError.of("page", first, [DO, *self._schema.tables])))

    @property
    def actions(self) -> Sequence[str]:
        """See `Site`."""
        return tuple(self._actions)

    def form_pages(self, action: str) -> tuple[FormPage, ...]:
        """See `Site`."""
        pages = self._steps(action)
        reviewed = action in self._reviewed
        made = [
            FormPage(
                fields=tuple(field.argument for field in fields),
                button=CONTINUE if reviewed or place < len(pages) - 1 else SEND,
            )
            for place, fields in enumerate(pages)
        ]
        return (*made, FormPage(fields=(), button=SEND)) if reviewed else tuple(made)

    def _steps(self, action: str) -> list[tuple[Field, ...]]:
        """The fields on each page of an action's form; a form made by hand has one page."""
        fields, size = self._forms[action], self._wizard
        if not size or len(fields) <= size or any(route.match((DO, action)) is not None for route in self._routes):
            return [fields]
        return [fields[first : first + size] for first in range(0, len(fields), size)]

    def _is_form_page(self, action: str, number: str) -> bool:
        """Whether an action's form has a page of that number beyond the first."""
        return action in self._actions and number in {str(n + 1) for n in range(1, len(self._steps(action)))}

    def look_up(self, url: str) -> ToolCall | None:
        """See `Site`: opening a list asks for its rows, and finding none is an answer too."""
        address = read_address(url)
        for route in self._routes:
            if route.match(address.path) is not None:
                return route.look_up(address)
        if len(address.path) != 1 or address.path[0] not in self._schema.tables:
            return None
        return look_up_list(self._schema[address.path[0]], address)

    # pages

    def _request(
        self, state: StateView, address: Address, parts: tuple[str, ...], thread: Sequence[ThreadMessage]
    ) -> PageRequest:
        path = address.path
        on_row = len(path) == 2 and path[0] in self._schema.tables
        actions = self._row_actions(path[0], path[1]) if on_row else self._action_links
        return PageRequest(
            state=state,
            schema=self._schema,
            address=address,
            parts=parts,
            actions=actions,
            per_page=self.per_page,
            thread=thread,
        )

    def _draw_navigation(self, given: Sequence[PageElement]) -> PageElement:
        if given:
            return PageElement(role="navigation", name="Site", children=tuple(given))
        links = [PageElement(role="link", id="nav.home", name="Home", activation=Follow(url="/"))]
        links += [
            PageElement(role="link", id=f"nav.{name}", name=words(name), activation=Follow(url=write_address(name)))
            for name in self._schema.tables
        ]
        return PageElement(role="navigation", name="Tables", children=tuple(links))

    def _draw_actions(self) -> tuple[PageElement, ...]:
        return tuple(
            link_element(f"do.{name}", words(name), write_address(DO, name), value=_first_sentence(tool.description))
            for name, tool in self._actions.items()
        )

    def _list(self, state: StateView, tab: Tab, address: Address, info: TableInfo) -> tuple[PageElement, ...]:
        search = address.query.get(SEARCH, "")
        rows = select(state, info, read_conditions(info, address), search)
        after = address.query.get(AFTER, "")
        if after and state.peek(info.kind, after) is None:
            raise ToolRefusal("bad_cursor", f"no list of {info.name} goes on after {after!r:.60}")
        first = sum(row.id <= after for row in rows)
        shown = rows[first : first + self.per_page]
        asked = [f"{name} {value}" for name, value in address.query.items() if name not in (SEARCH, AFTER)]
        said = ", ".join([*asked, *([f'with "{search}"'] if search else [])])
        counted = f"{first + 1} to {first + len(shown)} of {len(rows)}" if shown else "none"
        turning: list[PageElement] = []
        if len(rows) > first + self.per_page:
            url = write_address(info.name, query={**address.query, AFTER: shown[-1].id})
            turning.append(PageElement(role="link", id="list.next", name="next", activation=Follow(url=url)))
        return (
            PageElement(role="heading", name=f"{words(info.name)}{' where ' + said if said else ''}: {counted}"),
            self._search(tab, address, info),
            table_element(info, shown, words(info.name)),
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
        return PageElement(role="search", name=f"Find {words(info.name).lower()}", children=(*parts, find))

    def _row(self, state: StateView, info: TableInfo, key: str) -> tuple[str, tuple[PageElement, ...]]:
        row: Row | None = state.peek(info.kind, key)
        if row is None:
            raise ToolRefusal("not_found", f"{info.name} has no row {key!r:.60}")
        elements: list[PageElement] = [PageElement(role="heading", name=f"{words(info.name)}: {key}")]
        elements += [definition_element(info, row, name) for name in info.columns]
        referring = [
            PageElement(
                role="link",
                id=f"list.{other.name}.{column}",
                name=f"{words(other.name)} by {column}",
                activation=Follow(url=write_address(other.name, query={column: key})),
            )
            for other in self._schema
            for column in other.references
            if other.columns[column].references == info.name
        ]
        if referring:
            elements.append(PageElement(role="navigation", name="Rows that name it", children=tuple(referring)))
        if links := self._row_actions(info.name, key):
            elements.append(PageElement(role="navigation", name="Actions", children=links))
        return f"{words(info.name)}: {key}", tuple(elements)

    def _row_actions(self, table: str, key: str) -> tuple[PageElement, ...]:
        """Links to the forms of the actions that take an id, filled in with it: of those that take two, once."""
        links: dict[str, PageElement] = {}
        for name, tool in self._actions.items():
            for argument, referenced in tool.references.items():
                if referenced == table and _is_single(tool, argument):
                    url = write_address(DO, name, query={argument: key})
                    links.setdefault(name, link_element(f"do.{name}", words(name), url))
        return tuple(links.values())

    def _form(self, tab: Tab, address: Address, tool: Tool, place: int = 0) -> tuple[PageElement, ...]:
        """The form of an action, or the page of it at that place."""
        pages = self._steps(tool.name)
        fields = pages[place]
        here = {field.argument for field in fields}
        kept = tuple(
            (f.argument, v)
            for f in self._forms[tool.name]
            if f.argument not in here and (v := address.query.get(f.argument))
        )
        parts = [
            field_element(field, tab.value_of(field.element, address.query.get(field.argument, ""))) for field in fields
        ]
        if place < len(pages) - 1:
            lead_on = Submit(action="", fields=fields, url=write_address(DO, tool.name, str(place + 2)), kept=kept)
            button = PageElement(role="button", id=CONTINUE, name="Continue", activation=lead_on)
        elif tool.name in self._reviewed:
            review = Submit(action="", fields=fields, url=write_address(DO, tool.name, REVIEW), kept=kept)
            button = PageElement(role="button", id=CONTINUE, name="Review", activation=review)
        else:
            send = Submit(action=tool.name, fields=self._forms[tool.name], kept=kept)
            button = PageElement(role="button", id=SEND, name=words(tool.name), activation=send)
        return (
            PageElement(role="heading", name=words(tool.name)),
            PageElement(role="text", value=tool.description),
            *(
                PageElement(role="text", value=f"{field.argument}: {field.schema['description']}")
                for field in fields
                if field.schema.get("description")
            ),
            PageElement(role="form", name=words(tool.name), children=(*parts, button)),
        )

    def _review(self, state: StateView, address: Address, tool: Tool) -> tuple[PageElement, ...]:
        """What was entered in a form, what the rows that it names are, and the button that sends it."""
        fields = self._forms[tool.name]
        entered = [(field, address.query[field.argument]) for field in fields if address.query.get(field.argument)]
        said = tuple(PageElement(role="definition", name=field.argument, value=value) for field, value in entered)
        about: list[PageElement] = []
        for field, value in entered:
            info = self._schema[field.references] if field.references in self._schema.tables else None
            row: Row | None = state.peek(info.kind, value) if info is not None else None
            if info is not None and row is not None:
                about.append(table_element(info, [row], words(info.name)))
        kept = tuple((field.argument, value) for field, value in entered)
        send = Submit(action=tool.name, fields=fields, kept=kept)
        button = PageElement(role="button", id=SEND, name=words(tool.name), activation=send)
        change = link_element("review.change", "Change", write_address(DO, tool.name, query=dict(kept)))
        return (
            PageElement(role="heading", name=f"Review: {words(tool.name)}"),
            *said,
            *about,
            PageElement(role="form", name=words(tool.name), children=(button,)),
            PageElement(role="navigation", name="Review", children=(change,)),
        )


def look_up_list(info: TableInfo, address: Address) -> ToolCall:
    """The look-up that opening a list makes.

    Args:
        info: The table that it lists.
        address: Its address: conditions, `SEARCH` and `AFTER`.
    """
    where = read_conditions(info, address)
    arguments: dict[str, Any] = {"table": info.name, **({"where": where} if where else {})}
    if search := address.query.get(SEARCH):
        arguments["search"] = search
    if after := address.query.get(AFTER):
        arguments["cursor"] = after
    return ToolCall(tool=LOOK_UP, arguments=arguments)


def read_conditions(info: TableInfo, address: Address) -> dict[str, Scalar | list[Scalar]]:
    """What an address of a list asks of rows, with values of the types that the columns take."""
    asked = {name: value for name, value in address.query.items() if name not in (SEARCH, AFTER)}
    return {name: _condition_value(info, name, text) for name, text in asked.items()}


def _fill_in(element: PageElement, tab: Tab) -> PageElement:
    """An element of a page made by hand, with what was entered in its fields."""
    if element.role in FIELDS:
        return replace(element, value=tab.value_of(element.id, element.value))
    if not element.children:
        return element
    return replace(element, children=tuple(_fill_in(child, tab) for child in element.children))


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
