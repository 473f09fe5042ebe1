"""The tools of one world, and how a call runs.

A call is looked up, validated, allowed or refused, run, and answered; in every case there is one `ToolEvent`. A refused
call leaves the rows unchanged, even if the tool had begun to write.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Protocol

import orjson

from palaestra.digest import as_json
from palaestra.errors import InfrastructureError, RowMissingError, ToolRefusal, UnknownNameError
from palaestra.protocols import State
from palaestra.record import constructor, record
from palaestra.records import Json, Row, RowChange, ToolCall, ToolEvent
from palaestra.tools.context import ToolContext
from palaestra.tools.images import digest_answer
from palaestra.tools.schemas import Schemas
from palaestra.tools.tool import Tool
from palaestra.tools.wire import glimpse, plain_arguments, plain_name


class JournaledState(State, Protocol):
    """A state that can roll back the writes of a refused call."""

    @property
    def journal(self) -> Sequence[RowChange]:
        """Every write so far."""
        ...

    def rollback(self, length: int) -> None:
        """Undo writes until the journal has `length` entries."""
        ...


@record
class CallResult:
    """The result of a call."""

    event: ToolEvent
    content: str
    """The answer that the agent reads: JSON."""
    images: tuple[str, ...] = ()
    """The images of the answer, as `data:` URLs."""


_call_result, _tool_event = constructor(CallResult), constructor(ToolEvent)


class Toolbox:
    """The tools of one world, by name.

    Args:
        tools: The tools, in the order in which they are listed to agents.
        prose_tool: The tool for a turn of prose without a call; its only argument is `message`.
        actions: The tools that composite ones run.
    """

    def __init__(
        self, tools: Iterable[Tool], *, prose_tool: str | None = None, actions: "Toolbox | None" = None
    ) -> None:
        self._tools = {t.name: t for t in tools}
        self._exports: dict[str, Schemas] = {}
        self.prose_tool = prose_tool
        self.actions = actions
        self.composites = frozenset(t.name for t in self._tools.values() if t.composite)
        if prose_tool is not None and prose_tool not in self._tools:
            raise UnknownNameError.of("tool", prose_tool, self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> Tool:
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownNameError.of("tool", name, self._tools) from None

    def tools_for(self, role: str) -> list[Tool]:
        """The tools that `role` may call."""
        return [t for t in self if not t.roles or role in t.roles]

    def export(self, role: str) -> Schemas:
        """The tools that `role` may call, in OpenAI's function-calling form; the caller owns the copy."""
        if role not in self._exports:
            self._exports[role] = Schemas.of(t.export() for t in self.tools_for(role))
        return self._exports[role].fresh()

    def call(
        self,
        context: ToolContext,
        state: JournaledState,
        call_id: str,
        call: ToolCall,
        past: Sequence[ToolEvent],
    ) -> CallResult:
        """Run one call and return its result.

        Args:
            context: The context of the call; its clock advances by the tool's latency.
            state: The rows of the context, for rolling back a refused call.
            call_id: The id of this call, unique in the episode.
            call: The agent's call.
            past: The events of the episode so far.

        Raises:
            InfrastructureError: the tool crashed, which is not a fault of the agent.
        """
        context.begin_call()
        mark = len(state.journal)
        tool = self._tools.get(call.tool)
        result, schema_ok, error = self._answer(context, tool, call, state, mark)
        if error is not None:
            state.rollback(mark)
            context.begin_call()
        latency = tool.latency if tool else 1
        context.clock.advance(latency)
        content = orjson.dumps(result, default=_as_json, option=orjson.OPT_PASSTHROUGH_DATACLASS)
        name = tool.name if tool else plain_name(call.tool)
        flat = tool is not None and tool.flat and schema_ok
        arguments = dict(call.arguments) if flat else plain_arguments(call.arguments)
        event = _tool_event(
            call_id=call_id,
            tool=name,
            arguments=arguments,
            schema_ok=schema_ok,
            semantic_ok=error is None,
            executed=error is None,
            result_digest=digest_answer(content, context.images),
            error=error,
            cost=tool.cost if tool else 0,
            latency=latency,
            duplicate_of=_duplicate(name, arguments, past),
            named=(*tool.find_ids(call.arguments), *context.named) if tool and schema_ok else (),
            written=len(state.journal) - mark,
            shown=tuple(context.shown),
            mentioned=frozenset(context.mentioned),
        )
        if context.columns:
            # A sixteenth keyword would slow down every record (`constructor`), and few answers show parts.
            object.__setattr__(event, "columns", context.columns)
        if context.spelled and event.named:
            guessed = tuple([name for name in event.named if name in context.spelled])
            object.__setattr__(event, "guessed", guessed)
        return _call_result(event=event, content=content.decode(), images=context.images)

    def _answer(
        self, context: ToolContext, tool: Tool | None, call: ToolCall, state: JournaledState, mark: int
    ) -> tuple[object, bool, str | None]:
        """The tool's answer, whether the arguments fit, and the code of a refusal.

        A tool that crashed has written nothing after `mark`.
        """
        schema_ok = False
        try:
            if tool is None:
                offered = [t.name for t in self.tools_for(context.role)]
                raise ToolRefusal("unknown_tool", str(UnknownNameError.of("tool", plain_name(call.tool), offered)))
            if tool.roles and context.role not in tool.roles:
                schema_ok = tool.fits(call.arguments)
                raise ToolRefusal("forbidden", _describe_closed(tool, context.role))
            given = tool.validate(call.arguments)
            schema_ok = True
            return tool.function(context, **given), True, None
        except ToolRefusal as refusal:
            return _refuse(refusal.code, refusal.message, schema_ok=schema_ok)
        except RowMissingError as missing:
            return _refuse("not_found", str(missing), schema_ok=schema_ok)
        except Exception as crash:
            state.rollback(mark)
            raise InfrastructureError(
                f"tool {call.tool} crashed on {glimpse(dict(call.arguments), 200)}: {crash!r}"
            ) from crash


def _refuse(code: str, message: str, *, schema_ok: bool) -> tuple[object, bool, str]:
    return {"error": {"code": code, "message": message}}, schema_ok, code


def _as_json(value: object) -> orjson.Fragment | str:
    """A row as its cached JSON, any other dataclass as JSON; decimals and bytes as text."""
    if isinstance(value, Row):
        return orjson.Fragment(value.json())
    if is_dataclass(value):
        return orjson.Fragment(orjson.dumps(value, default=as_json))
    return as_json(value)


def _describe_closed(tool: Tool, role: str) -> str:
    return f"{tool.name} is open to {', '.join(sorted(tool.roles))}; you act as {role}"


def _duplicate(tool: str, arguments: Mapping[str, Json], past: Sequence[ToolEvent]) -> str | None:
    for event in past:
        if event.tool == tool and event.arguments == arguments:
            return event.duplicate_of or event.call_id
    return None
