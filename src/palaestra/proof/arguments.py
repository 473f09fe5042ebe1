"""The single values in the arguments of a call, at any depth, and the kind of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from palaestra.proof.directory import IdDirectory
from palaestra.records import Json, JsonSchema, ToolCall
from palaestra.tools import Tool

Path: TypeAlias = tuple[str | int, ...]
"""The names and positions that lead to a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentPlace:
    """The place of a single value in a call's arguments, and its kind."""

    path: Path
    value: Json
    table: str | None
    """The table that the value is an id of, or `ANY_TABLE`; `None` if it is not an id."""
    prose: bool
    """Whether it is free text for people."""
    money: bool
    """Whether it is a sum of money."""
    authored: bool
    """Whether it is text that the agent composes itself, such as code."""
    schema: JsonSchema
    """The tool's schema of it; empty below the depth that the schema describes."""

    @property
    def name(self) -> str:
        """The path in the form of reports."""
        return ".".join(map(str, self.path))


def leaf_paths(value: Json | Mapping[str, Json]) -> Iterator[tuple[Path, Json]]:
    """Every single value inside `value`, with the path to it."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from (((name, *path), leaf) for path, leaf in leaf_paths(part))
    elif isinstance(value, list):
        for position, part in enumerate(value):
            yield from (((position, *path), leaf) for path, leaf in leaf_paths(part))
    else:
        yield (), cast("Json", value)


def with_value(call: ToolCall, path: Path, value: Json) -> ToolCall:
    """The same call with `value` at `path`."""
    return replace(call, arguments=cast("Mapping[str, Json]", _put(dict(call.arguments), path, value)))


def _put(whole: Json, path: Path, value: Json) -> Json:
    if not path:
        return value
    step, *rest = path
    if isinstance(whole, list):
        assert isinstance(step, int)
        return [*whole[:step], _put(whole[step], tuple(rest), value), *whole[step + 1 :]]
    inner = cast("Mapping[str, Json]", whole)
    return {**inner, str(step): _put(inner[str(step)], tuple(rest), value)}


def places(call: ToolCall, tool: Tool, directory: IdDirectory) -> list[ArgumentPlace]:
    """Every single value of a call's arguments.

    The tool declares the kind of values at the top. Deeper values are ids by their value, and prose if their name is
    that of an argument for people in the world's own tools.
    """
    properties = cast("Mapping[str, JsonSchema]", tool.parameters.get("properties", {}))
    found: list[ArgumentPlace] = []
    for path, value in leaf_paths(call.arguments):
        name = str(path[0])
        deep = name not in tool.references and len(path) > 1
        table = directory.table_of(value) if deep and isinstance(value, str) else tool.references.get(name)
        found.append(
            ArgumentPlace(
                path=path,
                value=value,
                table=table,
                prose=name in tool.prose or (deep and _last_name(path) in directory.prose),
                money=name in tool.money or (deep and _last_name(path) in directory.money),
                authored=name in tool.authored,
                schema=properties.get(name, {}) if len(path) == 1 else {},
            )
        )
    return found


def choices(schema: JsonSchema) -> list[Json]:
    """The values that a schema lists, even if it allows others."""
    parts: list[JsonSchema] = [schema, *schema.get("anyOf", [])]
    return [value for part in parts for value in part.get("enum", [])]


def is_simple_lookup(tool: Tool) -> bool:
    """Whether a tool requires exactly one argument, an id."""
    required = tool.parameters.get("required", ())
    return len(required) == 1 and required[0] in tool.references


def _last_name(path: Sequence[str | int]) -> str:
    return next((part for part in reversed(path) if isinstance(part, str)), "")
