"""The tools that a benchmark offers: checking calls against their schemas, and drawing calls that fit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import gymnasium as gym

from palaestra.envs.spaces import fits_action
from palaestra.errors import InfrastructureError
from palaestra.protocols import Action
from palaestra.records import EndReason, JsonObject, JsonSchema, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import ActionFormat, sample_value

if TYPE_CHECKING:  # an extra, which only playing a benchmark needs
    from jsonschema import Draft202012Validator

REPLY = "reply"
"""The call that represents words without a call."""
ENDS = {"finish": EndReason.FINISHED, "give_up": EndReason.GAVE_UP}
"""The calls that end an episode, in every benchmark."""
_FINISH: JsonObject = {
    "type": "function",
    "function": {
        "name": "finish",
        "description": "End the task as done. Nothing can be done afterwards.",
        "parameters": {"type": "object", "properties": {}},
    },
}


class Offer:
    """Tools on offer.

    Args:
        tools: The benchmark's tools, in OpenAI's form.
        prose: Whether the benchmark uses words without a call; if not, `finish` is offered as well.

    Raises:
        InfrastructureError: a schema is invalid.
    """

    def __init__(self, tools: Sequence[JsonObject], *, prose: bool) -> None:
        self.prose = prose
        self.tools: tuple[JsonObject, ...] = (*tools, *([] if prose else [_FINISH]))
        self._schemas: dict[str, JsonSchema] = {}
        for tool in tools:
            name, schema = _read(tool)
            if name in self._schemas:
                raise InfrastructureError(f"two tools are called {name!r}; a benchmark that offers them is at fault")
            self._schemas[name] = schema
        self._validators: dict[str, Draft202012Validator] = {}

    def fits(self, call: ToolCall) -> bool:
        """Whether a call names a tool on offer, with arguments that fit its schema."""
        if call.tool in ENDS or (call.tool == REPLY and self.prose):
            return True
        if call.tool not in self._schemas:
            return False
        validator: Any = self._validator(call.tool)  # Any: its stubs are not complete
        return bool(validator.is_valid(dict(call.arguments)))

    def _validator(self, tool: str) -> "Draft202012Validator":
        from jsonschema import Draft202012Validator  # noqa: PLC0415  an extra
        from jsonschema.exceptions import SchemaError  # noqa: PLC0415

        if tool not in self._validators:
            schema = self._schemas[tool]
            try:
                Draft202012Validator.check_schema(schema)
            except SchemaError as error:
                raise InfrastructureError(f"the schema of {tool!r} is none: {error.message}") from error
            self._validators[tool] = Draft202012Validator(schema)
        return self._validators[tool]

    def draw_action(self, stream: Stream) -> Action:
        """A call of some tool with arguments that fit its schema; no call if there is no tool."""
        if not self._schemas:
            return []
        name = stream.choice(sorted(self._schemas))
        return {"tool": name, "arguments": sample_value({"type": "object", **self._schemas[name]}, stream)}


def _read(tool: JsonObject) -> tuple[str, JsonSchema]:
    """The name of a tool and the schema of its arguments."""
    try:
        function: Any = tool["function"]  # Any: JSON
        name, schema = function["name"], function.get("parameters", {})
    except (LookupError, TypeError, AttributeError):
        name, schema = None, None
    if not isinstance(name, str) or type(schema) is not dict:
        raise InfrastructureError(
            f"{str(tool)[:80]} is no tool in OpenAI's form; a benchmark that offers it is at fault"
        )
    return name, cast("JsonSchema", schema)


class TurnSpace(gym.Space[Action]):
    """Actions of a benchmark: one call, the calls of one turn, or raw text that the action format can read."""

    def __init__(self, offer: Offer, action_format: ActionFormat) -> None:
        super().__init__(None, None, None)
        self.offer = offer
        self._format = action_format

    @property
    def is_np_flattenable(self) -> bool:
        """False: text has no fixed size."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> Action:
        """A call whose arguments fit its tool's schema."""
        del mask, probability
        return self.offer.draw_action(Stream.root("action-space", int(self.np_random.integers(2**63))))

    def contains(self, x: Any) -> bool:
        """Whether `x` is an action that all schemas accept."""
        return fits_action(x, self._format, self.offer.fits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TurnSpace) and other.offer.tools == self.offer.tools

    def __hash__(self) -> int:
        return hash(len(self.offer.tools))

    def __repr__(self) -> str:
        return f"TurnSpace({len(self.offer.tools)} tools)"
