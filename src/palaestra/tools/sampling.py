"""Random calls: valid for a schema, or also with existing ids."""

import math
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any, cast

from palaestra.records import Json, JsonSchema, ToolCall
from palaestra.seeding import Stream
from palaestra.tools.tool import Tool

_FIRST_DAY, _DAYS = date(2026, 1, 1), 365
_WORDS = ("order", "late", "gpu", "refund", "alpha", "9", "x-17", "Zoë")


def sample_value(schema: JsonSchema, stream: Stream) -> Json:
    """A value that fits `schema`: the part of JSON Schema that pydantic writes for tool arguments.

    Raises:
        ValueError: the schema uses an unsupported keyword.
    """
    if "const" in schema:
        return cast("Json", schema["const"])
    if "enum" in schema:
        return stream.choice(cast("list[Json]", schema["enum"]))
    if "anyOf" in schema:
        return sample_value(stream.choice(cast("list[JsonSchema]", schema["anyOf"])), stream)
    sampler = _SAMPLERS.get(schema.get("type", "string"))
    if sampler is None or "$ref" in schema or "pattern" in schema:
        raise ValueError(f"cannot draw a value for the schema {dict(schema)!r}")
    return sampler(schema, stream)


def _integer(schema: JsonSchema, stream: Stream) -> int:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    high = schema.get("maximum", schema.get("exclusiveMaximum", low + 100_001) - 1)
    return stream.between(low, high)


def _number(schema: JsonSchema, stream: Stream) -> float:
    """A number with two decimal places, or fewer if its bounds leave no room."""
    low, high = (schema.get(f"{end}imum", schema.get(f"exclusive{end.title()}imum")) for end in ("min", "max"))
    low = (0 if high is None else high - 1_000) if low is None else low
    high = low + 1_000 if high is None else high
    steps = 100 if high - low > 0.02 else 10_000_000_000
    first = math.ceil(low * steps) + ("exclusiveMinimum" in schema)
    last = math.floor(high * steps) - ("exclusiveMaximum" in schema)
    return stream.between(first, max(first, last)) / steps


def _string(schema: JsonSchema, stream: Stream) -> str:
    if schema.get("format") == "date":
        return (_FIRST_DAY + timedelta(days=stream.below(_DAYS))).isoformat()
    words = " ".join(stream.choice(_WORDS) for _ in range(stream.between(1, 3)))
    return words.ljust(schema.get("minLength", 0), "x")[: schema.get("maxLength", 200)]


def _array(schema: JsonSchema, stream: Stream) -> list[Json]:
    length = stream.between(schema.get("minItems", 0), schema.get("maxItems", schema.get("minItems", 0) + 3))
    return [sample_value(schema.get("items", {}), stream) for _ in range(length)]


def _object(schema: JsonSchema, stream: Stream) -> dict[str, Json]:
    required = set(cast("list[str]", schema.get("required", [])))
    properties = cast("dict[str, JsonSchema]", schema.get("properties", {}))
    drawn = {n: sample_value(s, stream) for n, s in properties.items() if n in required or stream.chance(50)}
    extra: Any = schema.get("additionalProperties", False)
    if isinstance(extra, dict) and stream.chance(50):
        drawn[stream.choice(_WORDS)] = sample_value(cast("JsonSchema", extra), stream)
    return drawn


_SAMPLERS: dict[str, Callable[[JsonSchema, Stream], Json]] = {
    "integer": _integer,
    "number": _number,
    "string": _string,
    "boolean": lambda _, stream: stream.chance(50),
    "null": lambda _schema, _stream: None,
    "array": cast("Callable[[JsonSchema, Stream], Json]", _array),
    "object": cast("Callable[[JsonSchema, Stream], Json]", _object),
}


def sample_call(tools: Sequence[Tool], stream: Stream) -> ToolCall:
    """A call of one of `tools` whose arguments fit its schema."""
    tool = stream.choice(tools)
    return ToolCall(tool=tool.name, arguments=_object(tool.parameters, stream))


def legal_call(tools: Sequence[Tool], ids: Callable[[str], Sequence[str]], stream: Stream) -> ToolCall:
    """A call that fits its schema and whose ids exist, as listed by `ids` for a table.

    A tool that needs an id of an empty table gets an id that does not exist.
    """
    call = sample_call(tools, stream)
    tool = next(t for t in tools if t.name == call.tool)
    if tool.draw is not None:
        return ToolCall(tool=tool.name, arguments=tool.draw(ids, stream))
    arguments = dict(call.arguments)
    for name, value in call.arguments.items():
        known = ids(tool.references[name]) if name in tool.references else ()
        if not known or value is None:
            continue
        arguments[name] = [stream.choice(known) for _ in value] if isinstance(value, list) else stream.choice(known)
    return ToolCall(tool=call.tool, arguments=arguments)
