"""Gymnasium spaces for what agents say and what they are told."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import gymnasium as gym

from palaestra.errors import ActionError
from palaestra.protocols import Action
from palaestra.record import constructor
from palaestra.records import Message, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import ActionFormat, Tool, sample_call
from palaestra.tools.images import is_image_url
from palaestra.tools.wire import glimpse

_tool_call = constructor(ToolCall)
_ROLES = ("system", "user", "assistant", "tool")


def calls_of(action: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    """The calls that an action holds.

    Raises:
        ActionError: it is neither a call nor a list of calls.
    """
    plain = _plain_call(action)
    if plain is not None:
        return (plain,)
    # `dict` and `list` first, here and below: the abstract classes decide by a slow call of Python.
    parts: object = [action] if isinstance(action, (dict, Mapping)) else action
    if not isinstance(parts, (list, Sequence)) or isinstance(parts, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ActionError(
            f"an action is a call, a list of calls or text, not {type(action).__name__}: {glimpse(action, 80)}"
        )
    return tuple(map(_call, parts))


def _plain_call(action: object) -> ToolCall | None:
    """The common case in a third of the time: one call, as a dictionary of a name and a dictionary."""
    if type(action) is not dict:
        return None
    fields = cast("dict[object, object]", action)
    name, arguments = fields.get("tool"), fields.get("arguments")
    if len(fields) != 2 or type(name) is not str or type(arguments) is not dict:
        return None
    return _tool_call(tool=name, arguments=cast("dict[str, Any]", arguments).copy())


def _call(part: object) -> ToolCall:
    if not isinstance(part, (dict, Mapping)):
        raise ActionError(
            f"a call is a mapping with `tool` and `arguments`, not {type(part).__name__}: {glimpse(part, 80)}"
        )
    fields = cast("Mapping[str, Any]", part)
    name, arguments = fields.get("tool"), fields.get("arguments", {})
    if unknown := sorted(map(glimpse, fields.keys() - {"tool", "arguments"})):
        raise ActionError(f"a call has `tool` and `arguments`, and no {', '.join(unknown[:3])}")
    if not isinstance(name, str) or not isinstance(arguments, (dict, Mapping)):
        raise ActionError(f'a call is {{"tool": "name", "arguments": {{...}}}}, not {glimpse(dict(fields), 120)}')
    return ToolCall(tool=name, arguments=dict(cast("Mapping[str, Any]", arguments)))


class CallSpace(gym.Space[Action]):
    """Actions: one call, the calls of one turn, or raw text that the action format can read.

    `sample` draws a schema-valid call, so that it is a fuzzer; `contains` validates tool and arguments.
    """

    def __init__(self, tools: Sequence[Tool], action_format: ActionFormat) -> None:
        super().__init__(None, None, None)
        self._format = action_format
        self.offer(tools)

    def offer(self, tools: Sequence[Tool]) -> None:
        """Hold calls of these tools from now on."""
        self._tools = tuple(tools)
        self._by_name = {t.name: t for t in self._tools}

    @property
    def is_np_flattenable(self) -> bool:
        """False: text has no fixed size."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> Action:
        """A call whose arguments fit its tool's schema."""
        del mask, probability
        stream = Stream.root("action-space", int(self.np_random.integers(2**63)))
        drawn = sample_call(self._tools, stream)
        return {"tool": drawn.tool, "arguments": dict(drawn.arguments)}

    def contains(self, x: Any) -> bool:
        """Whether `x` is an action that no schema refuses."""
        try:
            if isinstance(x, str):
                parsed = self._format.parse(x)
                return parsed.error is None and all(map(self._fits, parsed.calls))
            calls = calls_of(x)
            return bool(calls) and all(map(self._fits, calls))
        except ActionError:
            return False

    def _fits(self, call: ToolCall) -> bool:
        tool = self._by_name.get(call.tool)
        return tool is not None and tool.fits(call.arguments)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CallSpace):
            return False
        # A generated tool is another object in another process, where a vector environment's workers compare spaces.
        return other._tools == self._tools or _offers(other._tools) == _offers(self._tools)

    def __hash__(self) -> int:
        return hash(tuple(self._by_name))

    def __repr__(self) -> str:
        return f"CallSpace({len(self._tools)} tools)"


def _offers(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [tool.export() for tool in tools]


class MessageSpace(gym.Space[tuple[Message, ...]]):
    """Observations: the chat messages that are new to the agent, in order."""

    def __init__(self) -> None:
        super().__init__(None, None, None)

    @property
    def is_np_flattenable(self) -> bool:
        """False: text has no fixed size."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> tuple[Message, ...]:
        """Some messages."""
        del mask, probability
        return tuple(
            Message(role="tool", content=f"message {int(self.np_random.integers(1000))}")
            for _ in range(int(self.np_random.integers(1, 4)))
        )

    def contains(self, x: Any) -> bool:
        """Whether `x` is a sequence of chat messages."""
        return isinstance(x, tuple | list) and all(map(_is_message, cast("Sequence[object]", x)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MessageSpace)

    def __hash__(self) -> int:
        return hash(MessageSpace)

    def __repr__(self) -> str:
        return "MessageSpace()"


def _is_message(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, object]", value)
    texts = all(isinstance(fields.get(name, ""), str) for name in ("name", "tool_call_id"))
    images = fields.get("images", [])
    pictured = isinstance(images, list) and all(map(is_image_url, cast("list[object]", images)))
    return fields.get("role") in _ROLES and isinstance(fields.get("content"), str) and texts and pictured
