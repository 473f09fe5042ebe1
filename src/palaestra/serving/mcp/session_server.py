"""An MCP server whose tools are those of one session, over the operations of the session core.

A client sees what a player sees, whatever its key: an agent that plays is a player. Task id, criteria, score and
solution are not available; an author reads them by `inspect` over HTTP.

A tool call is a turn. A call that arrives twice runs once if it can be recognised: by the id of the request within one
connection, or by the caller's own request key in `_meta` (`REQUEST_META`).
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias, TypeVar

import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    Tool,
)

from palaestra.errors import PalaestraError, RequestError
from palaestra.record import record
from palaestra.serving.access import Caller
from palaestra.serving.core import NOT_BEGUN, OPERATIONS, ItemBatch, ItemReader, error_json
from palaestra.serving.mcp.messages import briefing_contents, message_content
from palaestra.version import __version__

P = TypeVar("P")
R = TypeVar("R")

_LOG = logging.getLogger("palaestra.serving")
BRIEFING_URI = "palaestra://session/briefing"
"""The resource with the messages that open the episode."""
REQUEST_META = "palaestra/request"
"""The key of `_meta` for the request key of a tool call: a repeated call with the same request key runs once."""
TURN_META, END_META, REWARD_META = "palaestra/turn", "palaestra/end", "palaestra/reward"
"""The keys of `_meta` of an answer: turns played, why the episode ended, and the reward if players see it."""
_INSTRUCTIONS = f"""The tools act in a simulated workplace; one task is yours. Read the resource {BRIEFING_URI} first: \
it states your role, the rules and the request. Then work with the tools. Each call is a turn, and turns are limited. \
When the work is done, call the tool that finishes the task, as the briefing says."""
_OVER = "The episode is over: no further call is played."
_FAULTS = frozenset({"fault", "limit"})

RunBatch: TypeAlias = Callable[[Caller, ItemBatch], Awaitable[bytes]]
"""Runs the items of an operation and returns the body of the answer."""
Context: TypeAlias = ServerRequestContext[Any, Any]


@record
class McpCall:
    """The caller and the session of a request."""

    caller: Caller
    session: str
    connection: str | None
    """A name of the client's connection, within which each request id is used once; `None` without a connection."""


def make_session_server(reader: ItemReader, run: RunBatch, identify: Callable[[Context], McpCall]) -> Server[Any]:
    """The MCP server of sessions.

    Args:
        reader: Reads items.
        run: Runs them.
        identify: Returns the caller and session of a request.
    """
    return SessionServer(reader, run, identify).make()


class SessionServer:
    """The handlers of an MCP server; `make_session_server` documents the arguments."""

    def __init__(self, reader: ItemReader, run: RunBatch, identify: Callable[[Context], McpCall]) -> None:
        self._reader = reader
        self._run = run
        self._identify = identify

    def make(self) -> Server[Any]:
        """The MCP server."""
        return Server(
            "palaestra",
            version=__version__,
            instructions=_INSTRUCTIONS,
            # No tool declares headers. Without this, the tools would be listed again before each call.
            get_tool_input_schema=_find_no_schema,
            on_list_tools=_hide_faults(self._list_tools),
            on_call_tool=_hide_faults(self._call_tool),
            on_list_resources=_hide_faults(self._list_resources),
            on_read_resource=_hide_faults(self._read_resource),
        )

    async def _list_tools(self, context: Context, _: PaginatedRequestParams | None) -> ListToolsResult:
        shown = await self._ask(context, "observe", {"tools": True})
        return ListToolsResult(tools=[_read_tool(tool) for tool in _value(shown)["tools"]])

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        call = self._identify(context)
        item: dict[str, Any] = {"action": {"tool": params.name, "arguments": params.arguments or {}}}
        item["request"] = _request_key(context, call)
        result = await self._ask(context, "step", item)
        code = result["error"]["code"] if "error" in result else None
        if code in ("action", "episode_over"):  # the agent may read these; any other error is for its program
            message = str(result["error"]["message"])
            text = _OVER if code == "episode_over" and message != NOT_BEGUN else message
            return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
        shown = _value(result)
        meta = {TURN_META: shown["turn"]}
        if shown["end"] is not None:
            meta[END_META] = shown["end"]
        if "reward" in shown:
            meta[REWARD_META] = shown["reward"]
        content = [part for message in shown["messages"] for part in message_content(message)]
        return CallToolResult(content=content, _meta=meta)  # pyright: ignore[reportCallIssue]  an alias of pydantic's

    async def _list_resources(self, context: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        self._identify(context)
        described = "Your role, the rules and the request. Read it before the first tool call."
        resource = Resource(name="briefing", uri=BRIEFING_URI, description=described, mime_type="text/plain")
        return ListResourcesResult(resources=[resource])

    async def _read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        if params.uri != BRIEFING_URI:
            raise MCPError(INVALID_PARAMS, f"there is no resource {params.uri[:80]!r}; read {BRIEFING_URI}")
        shown = _value(await self._ask(context, "observe", {}))
        return ReadResourceResult(contents=briefing_contents(BRIEFING_URI, shown["opening"]))

    async def _ask(self, context: Context, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The result of one item, read and answered as over HTTP. Any: JSON."""
        call, operation = self._identify(context), OPERATIONS[name]
        try:
            batch = self._reader.read(operation, _write_items({"session": call.session, **fields}))
            answered = await self._run(call.caller, batch)
        except PalaestraError as error:
            refused: dict[str, Any] = orjson.loads(error_json(error))
            return refused
        read: dict[str, list[dict[str, Any]]] = orjson.loads(answered)
        return read["results"][0]


def _hide_faults(handler: Callable[[Context, P], Awaitable[R]]) -> Callable[[Context, P], Awaitable[R]]:
    """Wrap a handler so that the text of its own faults reaches no client; MCP's server would send it."""

    async def handle(context: Context, params: P) -> R:
        try:
            return await handler(context, params)
        except MCPError:
            raise
        except Exception as error:
            _LOG.exception("request failed", extra={"operation": context.method})
            described: dict[str, str] = orjson.loads(error_json(error))["error"]
            raise MCPError(INTERNAL_ERROR, described["message"], {"code": described["code"]}) from None

    return handle


def _write_items(item: Mapping[str, Any]) -> bytes:
    """One item as the body of a request. MCP's reader accepts values that no body of the HTTP interface can hold.

    Raises:
        RequestError: a text is not Unicode, a number has more than 64 bits, or values are nested too deep.
    """
    try:
        return orjson.dumps({"items": [item]})
    except orjson.JSONEncodeError as error:
        raise RequestError(f"the arguments are no JSON: {error}") from error


def _value(result: Mapping[str, Any]) -> dict[str, Any]:
    """The value of a result.

    Raises:
        MCPError: the result is an error; its `data` holds the code.
    """
    if "error" in result:
        error: dict[str, Any] = result["error"]
        code = INTERNAL_ERROR if error["code"] in _FAULTS else INVALID_PARAMS
        raise MCPError(code, str(error["message"]), {key: error[key] for key in error if key != "message"})
    value: dict[str, Any] = result["ok"]
    return value


def _read_tool(schema: Mapping[str, Any]) -> Tool:
    function = schema["function"]
    return Tool(name=function["name"], description=function["description"], input_schema=function["parameters"])


def _find_no_schema(_: str) -> None:
    return None


def _request_key(context: Context, call: McpCall) -> str | None:
    """The request key of a tool call; `None` if a call that arrives twice cannot be recognised.

    Raises:
        MCPError: the caller's own request key is not text.
    """
    parts: Sequence[Any]
    own = (context.meta or {}).get(REQUEST_META)
    if own is not None:
        if not isinstance(own, str):
            raise MCPError(INVALID_PARAMS, f"_meta {REQUEST_META!r} is a text, a key of your own")
        parts = ("own", own)
    elif call.connection is not None:
        parts = ("id", call.connection, context.request_id)
    else:
        return None
    # Ids may be any number or text, even text that cannot be encoded; `repr` writes each.
    return f"mcp-{blake2b(repr(parts).encode(), digest_size=16).hexdigest()}"
