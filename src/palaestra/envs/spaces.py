"""Gymnasium spaces for what agents say and what they are told."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import gymnasium as gym

from palaestra.errors import ActionError
from palaestra.protocols import Action
from palaestra.records import Message, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import ActionFormat, Tool, read_action, sample_call
from palaestra.tools.images import is_image_url

_ROLES = ("system", "user", "assistant", "tool")


def fits_action(action: object, action_format: ActionFormat, fits: Callable[[ToolCall], bool]) -> bool:
    """Whether a value is an action all of whose calls fit.

    Args:
        action: The value.
        action_format: How text is read.
        fits: Whether a tool takes a call.
    """
    try:
        said = read_action(action)
    except ActionError:
        return False
    if said.text is not None:
        parsed = action_format.parse(said.text)
        return parsed.error is None and all(map(fits, parsed.calls))
    return said.error is None and bool(said.calls) and all(map(fits, said.calls))


class CallSpace(gym.Space[Action]):
    """Actions: one call, the calls of one turn, or raw text that the action format can read.

    `sample` draws a schema-valid call, so that it is a fuzzer; `contains` validates tool and arguments.
    """

    def __init__(self, tools: Sequence[Tool], action_format: ActionFormat) -> None:
        super().__init__(None, None, None)
        self.offer(tools, action_format)

    def offer(self, tools: Sequence[Tool], action_format: ActionFormat) -> None:
        """Hold calls of these tools, and text in this format, from now on."""
        self._format = action_format
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
        return fits_action(x, self._format, self._fits)

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
