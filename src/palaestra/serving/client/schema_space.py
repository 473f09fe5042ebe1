"""The action space of an environment whose tools are known only by their schemas."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from palaestra.envs.spaces import fits_action
from palaestra.protocols import Action
from palaestra.records import JsonObject, JsonSchema, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import ActionFormat, bind_tools, sample_value

if TYPE_CHECKING:  # an extra, and slow to import
    from jsonschema import Draft202012Validator


class SchemaSpace(gym.Space[Action]):
    """Actions: one call, the calls of one turn, or raw text that the action format can read.

    Args:
        tools: The offered tools, in OpenAI's form.
        action_format: How text is read.
    """

    def __init__(self, tools: Sequence[JsonObject], action_format: ActionFormat) -> None:
        super().__init__(None, None, None)
        self._format = action_format
        self.offer(tools)

    def offer(self, tools: Sequence[JsonObject]) -> None:
        """Contain calls of these tools from now on."""
        self._tools = tools
        self._format = bind_tools(self._format, tools)
        self._by_name: dict[str, JsonSchema] | None = None
        self._validators: dict[str, Draft202012Validator] = {}

    def fork(self) -> "SchemaSpace":
        """The same space with a generator of its own."""
        return SchemaSpace(self._tools, self._format)

    @property
    def _schemas(self) -> dict[str, JsonSchema]:
        """The schema of each tool's arguments, read on first use, since many are never needed."""
        if self._by_name is None:
            functions: list[Any] = [tool["function"] for tool in self._tools]  # Any: JSON
            self._by_name = {function["name"]: function["parameters"] for function in functions}
        return self._by_name

    @property
    def is_np_flattenable(self) -> bool:
        """False: text has no fixed size."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> Action:
        """Draw a call whose arguments fit its tool's schema, the same as the environment itself would."""
        del mask, probability
        stream = Stream.root("action-space", int(self.np_random.integers(2**63)))
        name = stream.choice(list(self._schemas))
        return {"tool": name, "arguments": sample_value(self._schemas[name], stream)}

    def contains(self, x: Any) -> bool:
        """Whether `x` is an action that all schemas accept."""
        return fits_action(x, self._format, self._fits)

    def _fits(self, call: ToolCall) -> bool:
        if call.tool not in self._schemas:
            return False
        validator: Any = self._validator(call.tool)  # Any: its stubs are not complete
        return bool(validator.is_valid(dict(call.arguments)))

    def _validator(self, tool: str) -> "Draft202012Validator":
        from jsonschema import Draft202012Validator  # noqa: PLC0415  an extra

        if tool not in self._validators:
            self._validators[tool] = Draft202012Validator(self._schemas[tool])
        return self._validators[tool]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaSpace) and list(other._tools) == list(self._tools)

    def __hash__(self) -> int:
        return hash(tuple(self._schemas))

    def __repr__(self) -> str:
        return f"SchemaSpace({len(self._tools)} tools)"
