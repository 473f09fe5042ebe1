"""Tools as Python functions: signature, types and Google docstring from a schema, for frameworks that read those.

Information that a type cannot express (bounds, lengths, patterns, fields of objects) is added to the description.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, TypeVar, cast

import orjson

from palaestra.records import JsonSchema

_TYPES: Mapping[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": NoneType,
}
_SAID_BY_TYPE = frozenset({"type", "enum", "anyOf", "items", "additionalProperties", "default", "description", "title"})
"""Keys of a schema that the argument's type, default or description already expresses."""
_F = TypeVar("_F", bound=Callable[..., Any])


def type_hint(schema: JsonSchema) -> Any:
    """The Python type closest to a schema. Any: types are built at run time."""
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if "anyOf" in schema:
        return _union([type_hint(one) for one in schema["anyOf"]])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union([_TYPES[one] for one in cast("list[str]", kind)])
    if kind == "array" and "items" in schema:
        return list[type_hint(schema["items"])]  # type: ignore[misc]
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return dict[str, type_hint(schema["additionalProperties"])]  # type: ignore[misc]
    return _TYPES.get(str(kind), Any)


def sign(function: _F, tool: JsonSchema) -> _F:
    """Give a function the name, signature and docstring of a tool.

    Args:
        function: Takes `self` and any keyword arguments.
        tool: The schema, in OpenAI's form.

    Returns:
        The same function.
    """
    described = tool["function"]
    properties: dict[str, JsonSchema] = described["parameters"].get("properties", {})
    required: Sequence[str] = described["parameters"].get("required", ())
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for name, schema in sorted(properties.items(), key=lambda item: item[0] not in required):
        default = inspect.Parameter.empty if name in required else schema.get("default")
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=type_hint(schema), default=default)
        )
    function.__name__ = described["name"]
    function.__qualname__ = described["name"]
    function.__doc__ = _docstring(described.get("description", ""), properties)
    function.__annotations__ = {one.name: one.annotation for one in parameters[1:]} | {"return": str}
    vars(function)["__signature__"] = inspect.Signature(parameters, return_annotation=str)
    return function


def _union(hints: Sequence[Any]) -> Any:
    joined = hints[0]
    for hint in hints[1:]:
        joined = joined | hint
    return joined


def _docstring(description: str, properties: Mapping[str, JsonSchema]) -> str:
    arguments = [f"    {name}: {_argument_text(schema)}" for name, schema in properties.items()]
    said = _one_line(description) or "Call the tool."
    return "\n".join([said, "", "Args:", *arguments]) if arguments else said


def _argument_text(schema: JsonSchema) -> str:
    described = _one_line(str(schema.get("description", ""))) or "A value."
    rest = _unsaid(schema)
    return f"{described} {orjson.dumps(rest).decode()}" if rest else described


def _unsaid(schema: JsonSchema) -> dict[str, Any]:
    """The part of a schema that the type hint does not express, as a schema."""
    rest = {key: value for key, value in schema.items() if key not in _SAID_BY_TYPE and value != {}}
    for inner in schema.get("anyOf", ()):
        rest |= _unsaid(inner)
    if isinstance(schema.get("items"), dict) and (items := _unsaid(schema["items"])):
        rest["items"] = items
    return rest


def _one_line(text: str) -> str:
    """A text that cannot be parsed as a section of a docstring or as another argument."""
    return (
        " ".join(text.split())
        .replace("Args:", "Args -")
        .replace("Returns:", "Returns -")
        .replace("Raises:", "Raises -")
    )
