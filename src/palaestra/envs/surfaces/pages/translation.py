"""From a world's own tools to a generated site: for each call, what one does in the browser to see or do the same.

A look-up that declares its rows opens their pages; any other call fills in its form and sends it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from math import ceil
from typing import Any, cast

from palaestra.envs.state import Schema
from palaestra.envs.state.query import follow, select
from palaestra.envs.surfaces.pages.addresses import write_address
from palaestra.envs.surfaces.pages.disturbances import END, PASSING, DisturbanceSettings, DisturbanceState
from palaestra.envs.surfaces.pages.forms import EMPTY, field_element, form_fields, read_value, written_value
from palaestra.envs.surfaces.pages.generated import AFTER, CONTINUE, DO, SEARCH
from palaestra.envs.surfaces.pages.pieces import column_text, fits_cell
from palaestra.envs.surfaces.pages.session import BrowserSession, Tab
from palaestra.envs.surfaces.pages.site import Site
from palaestra.envs.surfaces.pages.text import SCROLL, VIEWPORT, view_page
from palaestra.envs.surfaces.pages.tree import Field
from palaestra.envs.surfaces.pages.variation import PER_PAGE
from palaestra.errors import ToolRefusal
from palaestra.protocols import StateView
from palaestra.records import Json, Row, ToolCall
from palaestra.tools import Reads, Tool, Toolbox


class PageTranslation:
    """Turns calls of a world's own tools into actions in the browser.

    Args:
        schema: The world's tables.
        reads: By name: the tools that read rows which they declare, and these.
        actions: The tools that have forms.
        site: The site.
        disturbances: What comes between an agent and pages; nothing if `None`.
    """

    def __init__(
        self,
        schema: Schema,
        reads: Mapping[str, tuple[Tool, Reads]],
        actions: Toolbox,
        site: Site,
        disturbances: DisturbanceSettings | None = None,
    ) -> None:
        self._schema = schema
        self._reads = reads
        self._actions = actions
        self._site = site
        self._disturbances = disturbances

    def translate(self, calls: Sequence[ToolCall], state: StateView) -> tuple[ToolCall, ...]:
        """What one does in the browser for `calls`.

        Args:
            calls: Calls of the world's own tools; one that talks, ends or acts in the browser stays as it is.
            state: The rows that they begin at. They tell how long pages are.
        """
        steps = (said for call in calls for said in self._translate_call(call, state))
        return tuple(steps if self._disturbances is None else _end_disturbances(steps, self._disturbances))

    def _translate_call(self, call: ToolCall, state: StateView) -> Sequence[ToolCall]:
        if call.tool in self._actions:
            return self._fill_form(self._actions[call.tool], call.arguments)
        if call.tool not in self._reads:
            return [call]
        tool, reads = self._reads[call.tool]
        given = {**_defaults(tool), **call.arguments}
        return [step for url in self._addresses(reads, given, state) for step in self._open_and_scroll(url, state)]

    def _fill_form(self, tool: Tool, arguments: Mapping[str, Json]) -> list[ToolCall]:
        """A form opened, filled in and sent."""
        steps = [_call("goto", url=write_address(DO, tool.name))]
        fields = {field.argument: field for field in form_fields(tool)}
        for page in self._site.form_pages(tool.name):
            steps += self._fill_fields([fields[name] for name in page.fields], arguments)
            steps.append(_call("click", element=page.button))
        return steps

    def _fill_fields(self, form: Sequence[Field], arguments: Mapping[str, Json]) -> list[ToolCall]:
        """The fields of a page filled in."""
        steps: list[ToolCall] = []
        for field in form:
            value = arguments.get(field.argument)
            element = field_element(field, EMPTY)
            if field.argument not in arguments or (value is None and not field.required):
                continue
            text = written_value(value)
            if read_value(text, field.schema) != value:
                text = written_value(cast("Json", [value]))[1:-1]  # a text that reads as a number keeps its quotes
            if element.role == "checkbox":
                steps.append(_call("check", element=field.element, checked=value))
            elif element.role == "combobox":
                steps.append(_call("select_option", element=field.element, option=text))
            else:
                steps.append(_call("fill", element=field.element, text=text))
        return steps

    def _addresses(self, reads: Reads, given: Mapping[str, Json], state: StateView) -> Iterator[str]:
        """The pages that show what a look-up shows."""
        where: dict[str, Any] = {
            condition: value for name, condition in reads.by.items() if (value := given.get(name)) is not None
        }
        where |= {condition: value for name, (condition, value) in reads.flags.items() if given.get(name)}
        search = str(given.get(reads.search) or "") if reads.search else ""
        if list(where) == ["id"] and not search:
            yield write_address(reads.table, str(where["id"]))
            yield from self._linked_addresses(reads, str(where["id"]), state)
            return
        query = {name: _query_text(value) for name, value in where.items() if value != ""}
        if search:
            query[SEARCH] = search
        if reads.cursor is not None:
            after = str(given.get(reads.cursor) or "")
            yield write_address(reads.table, query={**query, AFTER: after} if after else query)
            listed = self._keys(reads, where, search, state)
            if after and after not in listed:
                return  # the tool refuses that cursor, and so does the page
            keys = [key for key in listed if key > after][:PER_PAGE]
        else:
            yield write_address(reads.table, query=query)
            keys = self._keys(reads, where, search, state)
        for key in keys[self._site.per_page - 1 : -1 : self._site.per_page]:
            yield write_address(reads.table, query={**query, AFTER: key})

    def _keys(self, reads: Reads, where: Mapping[str, Any], search: str, state: StateView) -> list[str]:
        """The ids of the rows that a look-up finds; none where its page refuses, and says why."""
        asked = {name: value for name, value in where.items() if value != ""}
        try:
            return [row.id for row in select(state, self._schema[reads.table], asked, search)]
        except ToolRefusal:
            return []

    def _linked_addresses(self, reads: Reads, key: str, state: StateView) -> Iterator[str]:
        """The pages of the rows that a look-up shows beside the one that it names."""
        start: Row | None = state.peek(self._schema[reads.table].kind, key)
        if start is None:
            return
        shown: set[tuple[str, str]] = {(start.table, start.id)}
        for path in (entry.split("/") for entry in reads.follow):
            for number, rows in enumerate(follow(state, self._schema, start, path)):
                table, _, column = path[number].partition(".")
                new = [row for row in rows if (row.table, row.id) not in shown]
                shown.update((row.table, row.id) for row in rows)
                if number == 0 and column and len(rows) <= self._site.per_page and all(map(_fits_line, rows)):
                    yield write_address(table, query={column: key})  # one list in place of a page a row
                    continue
                yield from (write_address(row.table, row.id) for row in new)

    def _open_and_scroll(self, url: str, state: StateView) -> Iterator[ToolCall]:
        """A page opened, and scrolled to its end."""
        yield _call("goto", url=url)
        tab = Tab().visit(url)
        try:
            lines = view_page(self._site.page(state, tab), BrowserSession(tabs=(tab,))).lines
        except ToolRefusal:
            return
        yield from (_call("scroll", direction="down") for _ in range(max(0, ceil((lines - VIEWPORT) / SCROLL))))


def _end_disturbances(steps: Iterable[ToolCall], settings: DisturbanceSettings) -> Iterator[ToolCall]:
    """The steps, and after each page that opens with a disturbance the click that ends it."""
    state = DisturbanceState()
    for step in steps:
        yield step
        if step.tool == "goto" or (step.tool == "click" and step.arguments["element"] == CONTINUE):
            state = state.open_page(settings)
            if state.present and state.present not in PASSING:
                yield _call("click", element=END)
                state = state.end()


def _fits_line(row: Row) -> bool:
    """Whether a list shows a row whole."""
    return all(fits_cell(column_text(getattr(row, field.name))) for field in fields(row))


def _call(tool: str, **arguments: Json) -> ToolCall:
    return ToolCall(tool=tool, arguments=arguments)


def _query_text(value: Json) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return written_value(value)


def _defaults(tool: Tool) -> dict[str, Json]:
    properties = cast("Mapping[str, Mapping[str, Json]]", tool.parameters["properties"])
    return {name: part["default"] for name, part in properties.items() if "default" in part}
