"""Tools as typed Python functions for prompts and `help`: signatures and docstrings from tool schemas."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, cast

from palaestra.records import JsonSchema
from palaestra.tools.schemas import Schemas

_WORDS = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}
_INTRODUCTION = '''\
"""The tools as functions. Arguments are given by name. Answers are plain JSON values.

A refused call raises ToolError, which has `code` and `message`. Print what you want to see.
Nothing but the tools keeps anything from one turn to the next: names that you set are gone then.
"""'''


def describe_client(tools: Iterable[JsonSchema]) -> str:
    """The available functions as a Python stub for a prompt.

    Args:
        tools: In OpenAI's function-calling form, such as `info["tools"]`.
    """
    return "\n\n\n".join([_INTRODUCTION, *map(_stub, tools)]) + "\n"


def function_texts(tools: Schemas) -> Mapping[str, str]:
    """The text of each function, by its name: its signature and its description."""
    return _texts(tools.written)


@lru_cache(maxsize=64)
def _texts(written: bytes) -> Mapping[str, str]:
    return {cast("str", tool["function"]["name"]): _stub(tool) for tool in Schemas(written)}


def _stub(tool: JsonSchema) -> str:
    function = cast("JsonSchema", tool["function"])
    schema = _mapping(function.get("parameters"))
    required = cast("list[str]", schema.get("required") or [])
    parameters = {name: _mapping(part) for name, part in _mapping(schema.get("properties")).items()}
    signature = ", ".join(
        f"{name}: {_type(part, schema)}" + ("" if name in required else f" = {part.get('default')!r}")
        for name, part in parameters.items()
    )
    lines = [str(function.get("description", "")).strip()]
    described = [f"    {name}: {part['description']}" for name, part in parameters.items() if part.get("description")]
    if described:
        lines += ["", "Args:", *described]
    text = (
        "\n".join(lines).replace("\\", "\\\\").replace('"""', "'''").replace("\n", "\n    ").replace("\n    \n", "\n\n")
    )
    close = "\n    " if "\n" in text else ""
    head = f"def {function['name']}({f'*, {signature}' if signature else ''}) -> object:"
    return f'{head}\n    """{text}{close}"""'


def _type(part: JsonSchema, root: JsonSchema, depth: int = 0) -> str:
    """A schema's type, as an annotation."""
    if depth > 4:
        return "object"
    if "$ref" in part:
        name = str(part["$ref"]).rpartition("/")[2]
        return _type(_mapping(_mapping(root.get("$defs")).get(name)), root, depth + 1)
    if "const" in part or "enum" in part:
        values = cast("list[object]", part.get("enum", [part.get("const")]))
        return f"Literal[{', '.join(map(repr, values))}]"
    for key in ("anyOf", "oneOf"):
        if key in part:
            kinds = [_type(_mapping(option), root, depth + 1) for option in cast("list[object]", part[key])]
            return " | ".join(dict.fromkeys(kinds))
    kind = part.get("type")
    if isinstance(kind, list):
        return " | ".join(_WORDS.get(str(word), "object") for word in cast("list[object]", kind))
    word = _WORDS.get(str(kind), "object")
    if word == "list" and "items" in part:
        return f"list[{_type(_mapping(part['items']), root, depth + 1)}]"
    if word == "dict" and isinstance(part.get("additionalProperties"), Mapping):
        return f"dict[str, {_type(_mapping(part['additionalProperties']), root, depth + 1)}]"
    return word


def _mapping(value: object) -> JsonSchema:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
