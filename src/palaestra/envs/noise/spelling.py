"""Other names for tools and arguments: what an agent reads and writes, and what the world calls it itself."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, count
from typing import Any

from palaestra.envs.noise.synonyms import SYNONYMS
from palaestra.errors import ToolRefusal
from palaestra.records import Json, JsonObject, JsonSchema, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import CONTROL, Tool
from palaestra.tools.wire import glimpse

_COMPOUND = re.compile(r"\b\w+_\w+\b")
"""A name of several words; a single word in a text may be meant as a word."""
KEPT = frozenset(tool.name for tool in CONTROL)
"""The tools that keep their names: briefings speak of them."""


class Spelling:
    """The names of one episode.

    Args:
        tools: Every tool of the world, in its own names.
        synonyms: The world's own words, beside those that fit every world.
        stream: Chooses among them.
    """

    def __init__(self, tools: Sequence[Tool], synonyms: Mapping[str, tuple[str, ...]], stream: Stream) -> None:
        words = _words({**SYNONYMS, **synonyms}, stream)
        renamed = [tool for tool in tools if tool.name not in KEPT]
        taken = {tool.name for tool in tools}
        arguments = sorted({name for tool in renamed for name in tool.parameters.get("properties", {})})
        self.tools: Mapping[str, str] = _names((t.name for t in renamed), words, taken)
        """The name that an agent knows a tool by, by the world's own."""
        self.arguments: Mapping[str, str] = _names(arguments, words, set(arguments))
        """The same for arguments; a name means the same in every tool."""
        self._own_tools = {outer: own for own, outer in self.tools.items()}
        self._own_arguments = {outer: own for own, outer in self.arguments.items()}

    def write(self, call: ToolCall) -> ToolCall:
        """A call in the world's own names, as an agent would write it."""
        if call.tool not in self.tools:
            return call
        arguments = {self.arguments.get(name, name): value for name, value in call.arguments.items()}
        return ToolCall(tool=self.tools[call.tool], arguments=arguments)

    def read(self, call: ToolCall) -> ToolCall:
        """A call as an agent wrote it, in the world's own names; what has none stays."""
        own = self._own_tools.get(call.tool)
        if own is None:
            return call
        return ToolCall(tool=own, arguments=self.own_arguments(call.arguments))

    def own_arguments(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Arguments in the world's own names."""
        return {self._own_arguments.get(name, name): value for name, value in arguments.items()}

    def rename_tools_in(self, text: str) -> str:
        """A text for the agent, with the names of tools that it knows."""
        return _COMPOUND.sub(lambda match: self.tools.get(match[0], match[0]), text)

    def rename_all_in(self, text: str) -> str:
        """A text about tools for the agent, with the names of tools and arguments that it knows."""
        return _COMPOUND.sub(lambda m: self.tools.get(m[0]) or self.arguments.get(m[0], m[0]), text)

    def complaint(self, text: str) -> str:
        """What is wrong with a call's arguments, with the names that the agent gave them."""
        return re.sub(r"(?:^|(?<=; ))\w+(?=[.:])", lambda match: self.arguments.get(match[0], match[0]), text)

    def rename_tool(self, tool: Tool) -> Tool:
        """A tool as the agent is offered it."""
        return RenamedTool.of(tool, self) if tool.name in self.tools else tool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RenamedTool(Tool):
    """A tool under other names. It is offered, drawn from and refuses by them; the world runs the one behind it."""

    own: Tool
    spelling: Spelling

    @classmethod
    def of(cls, tool: Tool, spelling: Spelling) -> "RenamedTool":
        """`tool` as `spelling` has it."""
        arguments, draw = spelling.arguments, tool.draw

        def draw_renamed(ids: Callable[[str], Sequence[str]], stream: Stream) -> JsonObject:
            assert draw is not None, "a tool that draws for itself"
            return {arguments[name]: value for name, value in draw(ids, stream).items()}

        kept: dict[str, Any] = {field.name: getattr(tool, field.name) for field in fields(Tool)}
        kept |= {
            "name": spelling.tools[tool.name],
            "description": spelling.rename_all_in(tool.description),
            "parameters": _renamed_schema(tool.parameters, spelling),
            "references": {arguments[name]: table for name, table in tool.references.items()},
            "prose": frozenset(arguments[name] for name in tool.prose),
            "draw": None if draw is None else draw_renamed,
        }
        return cls(own=tool, spelling=spelling, **kept)

    def __reduce__(self) -> tuple[Any, ...]:
        """It pickles as the tool behind it and the names."""
        return RenamedTool.of, (self.own, self.spelling)

    def validate(self, arguments: object) -> dict[str, Any]:
        """The arguments as the function takes them; `ToolRefusal` in the agent's names where they do not fit."""
        if isinstance(arguments, Mapping):
            known = self.parameters.get("properties", {})
            for name in arguments:  # pyright: ignore[reportUnknownVariableType]
                if name not in known:
                    value = glimpse(arguments[name])  # pyright: ignore[reportUnknownArgumentType]
                    raise ToolRefusal("invalid_arguments", f"{name!s:.60}: there is no such argument (got {value})")
            arguments = self.spelling.own_arguments(arguments)  # pyright: ignore[reportUnknownArgumentType]
        try:
            return self.own.validate(arguments)
        except ToolRefusal as refusal:
            raise ToolRefusal(refusal.code, self.spelling.complaint(refusal.message)) from None


def _words(synonyms: Mapping[str, tuple[str, ...]], stream: Stream) -> dict[str, str]:
    """One other word for each word: the choice of one does not depend on which others there are."""
    return {word: stream.split(word).choice(others) for word, others in synonyms.items()}


def _names(names: Iterable[str], words: Mapping[str, str], taken: set[str]) -> dict[str, str]:
    """Another name for each of `names`, none of them `taken` or given twice."""
    given: dict[str, str] = {}
    used = set(taken)
    for name in names:
        new = "_".join(words.get(word, word) for word in name.split("_"))
        candidates = chain([new], (f"{new}_{number}" for number in count(2)))
        given[name] = next(candidate for candidate in candidates if candidate not in used)
        used.add(given[name])
    return given


def _renamed_schema(schema: JsonSchema, spelling: Spelling) -> JsonSchema:
    properties: Mapping[str, JsonSchema] = schema.get("properties", {})
    new: dict[str, Any] = {
        **schema,
        "properties": {
            spelling.arguments[name]: {**part, "description": spelling.rename_all_in(part["description"])}
            for name, part in properties.items()
        },
    }
    if "required" in schema:
        new["required"] = [spelling.arguments[name] for name in schema["required"]]
    return new
