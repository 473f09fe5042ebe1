"""The tools of a world in its style, and calls of the plain tools in that style.

Solutions are planned with the plain tools and then written in the style. A styled tool calls the plain one, so both do
the same. Refusals of a tool's own conditions keep their words.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, cast, get_args, get_type_hints

import orjson
from docstring_parser import parse as parse_docstring

from palaestra.envs.blueprints.expressions import ValueType
from palaestra.envs.blueprints.tool_style import FIXED, PLAIN, ToolStyle, style_tool_names
from palaestra.envs.kit.generated import CURSOR_TEXT, Parameter, generate_tool
from palaestra.envs.task import Task
from palaestra.errors import ToolRefusal
from palaestra.records import Json, Row, ToolCall
from palaestra.tools import Reads, Tool, ToolContext
from palaestra.tools.tool import Origin

_QUOTED = re.compile(r"`([a-z_]+)`")
_SENTENCE = re.compile(r"^(.*?[.!?])(?:\s|$)", re.DOTALL)
_EXAMPLE = re.compile(r",? (?:such as|as in) [^.;]*")

Columns = Mapping[str, Mapping[str, ValueType]]
"""By table and column: the types of what rows hold."""


class StyledTools:
    """The tools of a world in a style.

    Args:
        style: The style.
        tools: The plain tools.
        days: By tool: the arguments that are days.
        columns: The types of the columns of every table.
        origin: What gives a styled tool again in another process, by its name.

    Raises:
        BlueprintError: two tools have one name in the style.
    """

    def __init__(
        self,
        style: ToolStyle,
        tools: Sequence[Tool],
        *,
        days: Mapping[str, frozenset[str]],
        columns: Columns,
        origin: Callable[[str], Origin],
    ) -> None:
        self._style = style
        self._days = days
        self._written = {table: _written_columns(style, kinds) for table, kinds in columns.items()}
        self.names = style_tool_names(style, [tool.name for tool in tools])
        """By name of a plain tool: its name in the style."""
        self._arguments = {tool.name: _style_arguments(style, tool) for tool in tools}
        self.tools = [tool if style == PLAIN else self._restyle(tool, origin) for tool in tools]
        """The styled tools, in the order of the plain ones."""

    def call(self, call: ToolCall) -> ToolCall:
        """A call of a plain tool in the style."""
        arguments = self._arguments[call.tool]
        days = self._days.get(call.tool, frozenset[str]())
        values: dict[str, Json] = {}
        for name, value in call.arguments.items():
            is_day = name in days and isinstance(value, str)
            values[arguments[name]] = self._style.format_day(date.fromisoformat(str(value))) if is_day else value
        return ToolCall(tool=self.names[call.tool], arguments=values)

    def task(self, task: Task) -> Task:
        """A task whose solutions are calls of plain tools, in the style."""
        return replace(
            task,
            oracle=[self.call(one) for one in task.oracle],
            alternatives=[[self.call(one) for one in calls] for calls in task.alternatives],
        )

    def _restyle(self, tool: Tool, origin: Callable[[str], Origin]) -> Tool:
        if tool.name in FIXED:
            return tool
        names = self._arguments[tool.name]
        plain_names = {styled: name for name, styled in names.items()}
        days = self._days.get(tool.name, frozenset[str]())
        written = any(self._written.values())

        def run(context: ToolContext, **arguments: Any) -> object:
            given = {plain_names[name]: value for name, value in arguments.items()}
            for name in days:
                if given[name] is not None:
                    given[name] = self._parse_day(names[name], given[name])
            answer = tool.function(context, **given)
            return self._write(answer, "" if tool.reads is None else tool.reads.table) if written else answer

        return generate_tool(
            run,
            name=self.names[tool.name],
            description=self._describe(tool),
            parameters=self._parameters(tool),
            origin=origin(self.names[tool.name]),
            writes=tool.writes,
            latency=tool.latency,
            reads=None if tool.reads is None else _rename_reads(tool.reads, names),
            closes=tool.closes,
        )

    def _parse_day(self, argument: str, text: str) -> str:
        try:
            return self._style.parse_day(text).isoformat()
        except ValueError:
            example = self._style.format_day(date(2026, 5, 31))
            raise ToolRefusal(
                "invalid_arguments", f"{argument}: {text!r} is no day of the calendar; write it as {example}"
            ) from None

    # What an answer shows

    def _write(self, value: Any, table: str) -> Any:
        """An answer with its days and amounts as the style writes them."""
        if isinstance(value, Row):
            columns = self._written.get(value.table, {})
            return self._write_entry(orjson.loads(value.json()), columns) if columns else value
        if isinstance(value, dict):
            entry = cast("dict[str, Any]", value)
            columns = self._written.get(table, {}) if "id" in entry else {}
            return {key: self._write(part, table) for key, part in self._write_entry(entry, columns).items()}
        if isinstance(value, list | tuple):
            return [self._write(part, table) for part in cast("Sequence[Any]", value)]
        return value

    def _write_entry(self, entry: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
        return {key: self._write_value(part, columns.get(key, "")) for key, part in entry.items()}

    def _write_value(self, value: Any, kind: str) -> Any:
        if value is None or not kind:
            return value
        return self._style.format_day(date.fromisoformat(value)) if kind == "date" else self._style.format_amount(value)

    # What the agent reads of a tool

    def _parameters(self, tool: Tool) -> dict[str, Parameter]:
        hints = get_type_hints(tool.function, include_extras=True)
        signature = inspect.signature(tool.function).parameters
        texts = {one.arg_name: one.description or "" for one in parse_docstring(tool.function.__doc__ or "").params}
        days = self._days.get(tool.name, frozenset[str]())
        return {
            styled: Parameter(
                annotation=_day_annotation(hints[name], self._style) if name in days else hints[name],
                text=self._describe_argument(texts[name], required=signature[name].default is inspect.Parameter.empty),
                default=signature[name].default,
            )
            for name, styled in self._arguments[tool.name].items()
        }

    def _describe(self, tool: Tool) -> str:
        text = self._restate(tool.description)
        if self._style.descriptions == "terse":
            return _first_sentence(text)
        if self._style.descriptions == "annotated":
            return f"{text} {'Changes records.' if tool.writes else 'Changes nothing.'}"
        return text

    def _describe_argument(self, text: str, *, required: bool) -> str:
        text = self._restate(" ".join(text.split()))
        if self._style.descriptions == "terse" and text != CURSOR_TEXT:
            return _EXAMPLE.sub("", _first_sentence(text))
        if self._style.descriptions == "annotated":
            return f"{text} {'Required.' if required else 'Optional.'}"
        return text

    def _restate(self, text: str) -> str:
        """A text with the names of tools and the days that it gives as the style writes them."""
        named = _QUOTED.sub(lambda match: f"`{self.names.get(match[1], match[1])}`", text)
        return self._style.restate_days(named)


def _style_arguments(style: ToolStyle, tool: Tool) -> dict[str, str]:
    """By argument of a plain tool: what it is called. An id keeps its name where the short one is another argument."""
    plain: Iterable[str] = tool.parameters["properties"]
    if tool.name in FIXED or style == PLAIN:
        return {name: name for name in plain}
    found: dict[str, str] = {}
    for name in plain:
        styled = style.argument(name, is_id=name in tool.references)
        taken = styled in {style.argument(other, is_id=False) for other in plain if other != name}
        found[name] = style.argument(name, is_id=False) if taken else styled
    return found


def _written_columns(style: ToolStyle, kinds: Mapping[str, ValueType]) -> dict[str, str]:
    """The columns whose values the style writes otherwise, with what they hold."""
    changed = {"date"} if style.dates != "iso" else set[str]()
    changed |= {"money"} if style.amounts != "cents" else set[str]()
    return {column: kind.name for column, kind in kinds.items() if kind.name in changed}


def _rename_reads(reads: Reads, names: Mapping[str, str]) -> Reads:
    return replace(
        reads,
        by={names[name]: condition for name, condition in reads.by.items()},
        search=None if reads.search is None else names[reads.search],
        cursor=None if reads.cursor is None else names[reads.cursor],
    )


def _day_annotation(annotation: Any, style: ToolStyle) -> Any:
    """The annotation of a day: JSON's format of days is the ISO one alone."""
    if style.dates == "iso":
        return annotation
    return str | None if type(None) in get_args(annotation) else str


def _first_sentence(text: str) -> str:
    found = _SENTENCE.match(text)
    return found[1] if found else text
