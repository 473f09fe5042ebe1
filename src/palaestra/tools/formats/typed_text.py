"""The base of formats whose values are bare text, which need the tools' schemas for reading and writing."""

from collections.abc import Iterable, Sequence
from typing import Protocol, Self, TypeVar, runtime_checkable

from palaestra.records import JsonSchema
from palaestra.tools.formats.format import ActionFormat
from palaestra.tools.formats.parameter_types import ParameterTypes

F = TypeVar("F", bound="TypedTextFormat")


class TypedTextFormat:
    """A format that needs schemas to tell text from numbers.

    Args:
        tools: The schemas of the offered tools. Without them, a text that parses as JSON is taken as JSON.
    """

    def __init__(self, tools: Iterable[JsonSchema] = ()) -> None:
        self._types = ParameterTypes(tools)

    def with_tools(self, tools: Sequence[JsonSchema]) -> Self:
        """The same format for these tools."""
        return type(self)(tools)


@runtime_checkable
class _NeedsTools(Protocol):
    def with_tools(self, tools: Sequence[JsonSchema]) -> ActionFormat: ...


def bind_tools(action_format: ActionFormat, tools: Iterable[JsonSchema]) -> ActionFormat:
    """A format with the offered tools; the format itself if it needs none.

    Args:
        action_format: The format.
        tools: The tools' schemas, in OpenAI's function-calling form; read only where they are needed.
    """
    return action_format.with_tools(list(tools)) if isinstance(action_format, _NeedsTools) else action_format
