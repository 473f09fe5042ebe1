"""Forms worked out from the schemas of tools: a field for each argument, and text read back as an argument's value.

A field takes text, as fields of pages do. The tool validates what it reads as, and its refusal stands on the page; so
text that fits no type is passed on as it is.
"""

from collections.abc import Mapping, Sequence
from typing import cast

import orjson

from palaestra.envs.surfaces.pages.tree import Field, PageElement
from palaestra.records import Json, JsonSchema
from palaestra.tools import Tool

EMPTY = ""
"""What a field holds where nothing was entered. The argument is then left out."""
_PARTS = ("anyOf", "oneOf")


def form_fields(tool: Tool) -> tuple[Field, ...]:
    """The fields of the form that calls a tool, in the order of its arguments."""
    properties = cast("Mapping[str, JsonSchema]", tool.parameters["properties"])
    required = frozenset(cast("Sequence[str]", tool.parameters.get("required", ())))
    return tuple(
        Field(
            element=f"field.{name}",
            argument=name,
            schema=schema,
            required=name in required,
            references=tool.references.get(name, ""),
        )
        for name, schema in properties.items()
    )


def field_element(field: Field, value: str) -> PageElement:
    """The element of a field that holds `value`."""
    options = field_options(field.schema)
    kinds = _types(field.schema)
    default = field.schema.get("default")
    return PageElement(
        role="checkbox" if kinds == {"boolean"} else "combobox" if options else "textbox",
        id=field.element,
        name=field.argument,
        value=value or (written_value(cast("Json", default)) if default is not None and not field.required else ""),
        options=options,
        required=field.required,
    )


def field_options(schema: JsonSchema) -> tuple[str, ...]:
    """The only values that a field takes; none where it takes any."""
    if "enum" in schema:
        return tuple(str(value) for value in cast("Sequence[Json]", schema["enum"]))
    if "const" in schema:
        return (str(schema["const"]),)
    parts = [field_options(part) for part in _parts(schema) if part.get("type") != "null"]
    return tuple(option for part in parts for option in part) if parts and all(parts) else ()


def read_arguments(fields: Sequence[Field], values: Mapping[str, str]) -> dict[str, Json]:
    """The arguments that a form's fields say, those left empty left out.

    Args:
        fields: The form's.
        values: By the ids of their elements: what they hold.
    """
    read: dict[str, Json] = {}
    for field in fields:
        text = values.get(field.element, EMPTY)
        if text != EMPTY:
            read[field.argument] = read_value(text, field.schema)
    return read


def read_value(text: str, schema: JsonSchema) -> Json:
    """The value that a text in a field means, by the types that the schema takes."""
    kinds = _types(schema)
    if "string" in kinds and not (kinds - {"string", "null"} and _fits(text, kinds - {"string"})):
        return text
    if kinds & {"array", "object"} and not text.lstrip().startswith(("[", "{")) and "array" in kinds:
        items = cast("JsonSchema", _of_type(schema, "array").get("items", {}))
        return [read_value(part.strip(), items) for part in text.split(",") if part.strip()]
    try:
        return cast("Json", orjson.loads(text))
    except orjson.JSONDecodeError:
        return text


def written_value(value: Json) -> str:
    """The text that a field holds for an argument's value; `read_value` reads the value back."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _fits(text: str, kinds: frozenset[str] | set[str]) -> bool:
    """Whether a text is a number, a truth value, a list or an object of one of these types."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return _type_of(value) in kinds or (isinstance(value, int) and "number" in kinds)


def _type_of(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds: dict[type, str] = {int: "integer", float: "number", list: "array", dict: "object", str: "string"}
    return kinds.get(type(value), "null")


def _parts(schema: JsonSchema) -> list[JsonSchema]:
    return [part for name in _PARTS for part in cast("Sequence[JsonSchema]", schema.get(name, ()))]


def _types(schema: JsonSchema) -> set[str]:
    """The JSON types that a value may have."""
    if "type" in schema:
        return {cast("str", schema["type"])}
    if "enum" in schema or "const" in schema:
        values = cast("Sequence[Json]", schema.get("enum", [schema.get("const")]))
        return {_type_of(value) for value in values}
    return {kind for part in _parts(schema) for kind in _types(part)} or {"string"}


def _of_type(schema: JsonSchema, kind: str) -> JsonSchema:
    if schema.get("type") == kind:
        return schema
    none: JsonSchema = {}
    return next((found for part in _parts(schema) if (found := _of_type(part, kind))), none)
