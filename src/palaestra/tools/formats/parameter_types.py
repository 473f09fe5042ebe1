"""Argument values as bare text, for Qwen3-Coder and GLM: the schema decides how a text is parsed.

A text parameter holds its text unchanged, without quotes; every other value is JSON. If both are allowed, or no schema
is known, a text that could be parsed as something else is quoted as JSON. So is a text with one of the format's own
tags; its angle brackets are escaped, so that it cannot end the value.
"""

from collections.abc import Iterable, Mapping, Sequence
from json import JSONEncoder
from typing import Any, TypeAlias, cast

import orjson

from palaestra.records import Json, JsonSchema

Types: TypeAlias = frozenset[str]
ANY_TYPE: Types = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False)
_PYTHON = {"True": True, "False": False, "None": None}
"""Values in Python notation, which chat templates show instead of JSON."""
_MOST_REFERENCES = 8


class ParameterTypes:
    """The JSON types that each parameter of each tool may have.

    Args:
        tools: The tools' schemas, in OpenAI's function-calling form.
    """

    def __init__(self, tools: Iterable[JsonSchema] = ()) -> None:
        self._types: dict[tuple[str, str], Types] = {}
        for tool in tools:
            function = tool.get("function", tool)
            parameters = function.get("parameters", {})
            for name, schema in parameters.get("properties", {}).items():
                self._types[function["name"], name] = _types(schema, parameters, _MOST_REFERENCES)

    def of(self, tool: str, parameter: str) -> Types:
        """The types of a parameter; all types if no schema has it."""
        return self._types.get((tool, parameter), ANY_TYPE)


def write_value(value: Json, types: Types, tags: Sequence[str]) -> str:
    """A value as text that `read_value` parses.

    Args:
        value: The value.
        types: The types that its parameter may have.
        tags: Tags that must not occur in the text.
    """
    if isinstance(value, str) and not _needs_quotes(value, types, tags):
        return value
    return _ENCODER.encode(value).replace("<", "\\u003c")  # inside JSON it occurs only in strings


def read_value(text: str, types: Types, tags: Sequence[str]) -> Json:
    """The value of a text.

    Args:
        text: The text between the tags.
        types: The types that the parameter may have.
        tags: Tags that cannot occur in a text without quotes.
    """
    if "string" not in types and text.strip() in _PYTHON:
        return _PYTHON[text.strip()]
    try:
        value: Json = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if isinstance(value, str):
        return value if "string" not in types or _needs_quotes(value, types, tags) else text
    return value if "string" not in types or _kind(value) & types else text


def _needs_quotes(text: str, types: Types, tags: Sequence[str]) -> bool:
    return any(tag in text for tag in tags) or read_value(text, types, tags) != text


def _kind(value: object) -> Types:
    """The types of a JSON value."""
    if value is None:
        return frozenset({"null"})
    if isinstance(value, bool):
        return frozenset({"boolean"})
    if isinstance(value, int):
        return frozenset({"integer", "number"})
    if isinstance(value, float):
        return frozenset({"number"})
    return frozenset({"string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"})


def _types(schema: object, root: Mapping[str, Any], references: int) -> Types:
    """The types that a schema allows; all types if it states none.

    Args:
        schema: The schema of a parameter.
        root: The schema with the definitions that it may refer to.
        references: Maximum references to follow.
    """
    if not isinstance(schema, Mapping):
        return ANY_TYPE
    fields = cast("Mapping[str, Any]", schema)
    reference = fields.get("$ref")
    if isinstance(reference, str):
        name = reference.removeprefix("#/$defs/")
        return _types(root.get("$defs", {}).get(name), root, references - 1) if references else ANY_TYPE
    for key in ("anyOf", "oneOf"):
        if key in fields:
            return _join_types(_types(part, root, references) for part in fields[key])
    kind = fields.get("type")
    if isinstance(kind, str):
        return frozenset({kind})
    if isinstance(kind, list):
        return frozenset(cast("list[str]", kind))
    known: list[object] = fields["enum"] if "enum" in fields else [fields["const"]] if "const" in fields else []
    return _join_types(map(_kind, known)) if known else ANY_TYPE


def _join_types(parts: Iterable[Types]) -> Types:
    return frozenset(kind for part in parts for kind in part)
