"""Tool schemas in fewer tokens: each parameter's type in one word or line, for models with a short context.

A JSON schema spends most of its tokens on braces and keywords. Here a parameter is its type as text, with the type
names of APIGen's data (Liu et al. 2024, arXiv:2406.18518): `str, optional`, `list[int]`, `open | closed`. Names of
tools and parameters, types, choices and required parameters are kept; limits, patterns and defaults are not.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from typing import Any, cast

from palaestra.records import JsonSchema

_WORDS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "null",
}
_DEEPEST = 5
"""Maximum levels of nested objects; a schema may contain itself."""
_ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "approx.")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")


def short_schema(tool: JsonSchema, *, described: bool = False) -> dict[str, Any]:
    """A tool as `{"name": ..., "description": ..., "parameters": {name: type}}`.

    Args:
        tool: In OpenAI's function-calling form.
        described: Whether full descriptions are kept. Then a parameter is `{"description": ..., "type": ...}`.
            Otherwise only the tool's first sentence and the parameters' types are kept.
    """
    function = cast("JsonSchema", tool["function"])
    schema = _object(function.get("parameters"))
    parameters = {
        name: {"description": str(part.get("description", "")), "type": kind} if described else kind
        for name, part, kind in _parameters(schema)
    }
    text = str(function.get("description", ""))
    return {
        "name": function["name"],
        "description": text if described else first_sentence(text),
        "parameters": parameters,
    }


def first_sentence(text: str) -> str:
    """The first sentence of a description, on one line."""
    line = " ".join(text.split())
    for end in _SENTENCE_END.finditer(line):
        sentence = line[: end.end()]
        if not sentence.endswith(_ABBREVIATIONS):
            return sentence
    return line


def _parameters(schema: JsonSchema) -> Iterator[tuple[str, JsonSchema, str]]:
    """Each parameter's name, schema and type."""
    required = _list(schema.get("required"))
    for name, given in _object(schema.get("properties")).items():
        part = _object(given)
        optional = name not in required
        kind = _type(part, schema, optional=optional)
        yield name, part, f"{kind}, optional" if optional else kind


def _type(part: JsonSchema, root: JsonSchema, *, optional: bool = False, depth: int = 0) -> str:
    """A schema's type as text.

    Args:
        part: The schema.
        root: The parameters' schema, which holds the definitions that `part` may refer to.
        optional: Whether `null` only means that the value may be left out.
        depth: The number of enclosing objects.
    """
    if isinstance(reference := part.get("$ref"), str):
        return (
            _type(_definition(reference, root), root, optional=optional, depth=depth + 1)
            if depth < _DEEPEST
            else "dict"
        )
    if "const" in part:
        return _choice(part["const"])
    if choices := _list(part.get("enum")):
        return _join((_choice(value) for value in choices), optional=optional)
    for keyword in ("anyOf", "oneOf", "allOf"):
        if options := _list(part.get(keyword)):
            return _join((_type(_object(one), root, depth=depth) for one in options), optional=optional)
    kind = part.get("type")
    if isinstance(kind, list):
        options = cast("list[object]", kind)
        return _join((_type({**part, "type": one}, root, depth=depth) for one in options), optional=optional)
    if kind in ("array", "list"):
        items = _object(part.get("items"))
        return f"list[{_type(items, root, depth=depth)}]" if items else "list"
    if kind in ("object", "dict") and _object(part.get("properties")) and depth < _DEEPEST:
        return f"dict({', '.join(_fields(part, root, depth + 1))})"
    return _WORDS.get(str(kind), str(kind)) if kind else "any"


def _fields(part: JsonSchema, root: JsonSchema, depth: int) -> Iterator[str]:
    """The fields of an object, `name: type`, with a question mark after optional names."""
    required = _list(part.get("required"))
    for name, given in _object(part.get("properties")).items():
        optional = name not in required
        kind = _type(_object(given), root, optional=optional, depth=depth)
        yield f"{name}{'?' if optional else ''}: {kind}"


def _definition(reference: str, root: JsonSchema) -> JsonSchema:
    """The target of a reference within the schema, such as `#/$defs/Address`; empty if there is none."""
    found: object = root
    for step in reference.removeprefix("#/").split("/"):
        found = _object(found).get(step)
    return _object(found)


def _choice(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


def _join(kinds: Iterator[str], *, optional: bool) -> str:
    """Alternatives, each once, in order."""
    distinct = list(dict.fromkeys(kinds))
    kept = [kind for kind in distinct if kind != "null"] if optional else distinct
    return " | ".join(kept or distinct)


def _object(value: object) -> JsonSchema:
    return cast("JsonSchema", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list) else ()
