"""The compact format for worlds that a policy was not trained in.

It differs from `compact` in two ways. The prompt lists the tools, each as a line `tool key= key=`, because a policy
cannot know the tools of a new world. Kinds of handles are named by letters (`<a.0>`) in the order of their first
occurrence, because the words of a new world have no marks. So the marks of the format are the same for all worlds.
"""

from collections.abc import Sequence
from typing import cast

from palaestra.records import JsonSchema, Message
from palaestra.tools.formats.compact import ROLES, CompactFormat, CompactRendering, role_mark
from palaestra.tools.formats.format import Mark
from palaestra.tools.formats.handles import Handles, neutral_marks


class CompactToolsFormat(CompactFormat):
    """The compact format with tool names in the prompt; see the module's text."""

    name = "compact-tools"

    def rendering(self) -> "CompactToolsRendering":
        """The rendering of a new episode, with its own handles."""
        return CompactToolsRendering(self, Handles(neutral=True))

    def marks(self, corpus: Sequence[Sequence[str]]) -> list[Mark]:
        """The marks of roles and end, and all handles; they do not depend on the corpus."""
        del corpus
        return [self.end, *(role_mark(role) for role in ROLES), *neutral_marks()]


class CompactToolsRendering(CompactRendering):
    """One episode in the compact format with tool names in the prompt."""

    def opening(self, messages: Sequence[Message], tools: Sequence[JsonSchema]) -> list[str]:
        """The names of the tools and their arguments, then the messages."""
        return [role_mark("tool"), "\n".join(map(_tool_line, tools)), *super().opening(messages, tools)]


def _tool_line(tool: JsonSchema) -> str:
    """A tool as the beginning of its calls: `get_order order_id=`."""
    function = cast("JsonSchema", tool["function"])
    parameters = cast("JsonSchema", function.get("parameters") or {})
    arguments = cast("JsonSchema", parameters.get("properties") or {})
    return " ".join([str(function["name"]), *(f"{name}=" for name in arguments)])
