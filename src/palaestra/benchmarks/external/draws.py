"""Random turns that make some sense: arguments are words that the agent has seen."""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from palaestra.benchmarks.external.protocol import WireTurn

_WORD = re.compile(r"[\w.@:/#+-]+")
_STOP = 8
"""One turn in this many ends the task."""
_KEPT = 400
"""The number of newest words that may be drawn."""


def draw_turn(draw: int, tools: Sequence[Mapping[str, Any]], seen: Sequence[str]) -> WireTurn:
    """A call of one of `tools` with arguments from `seen`, or words. Any: JSON Schema."""
    chance = random.Random(draw)  # noqa: S311  a floor, not a secret
    words = [word for text in seen for word in _WORD.findall(text)][-_KEPT:] or ["none"]
    if chance.randrange(_STOP) == 0:
        return {"calls": [], "prose": " ".join(chance.choice(words) for _ in range(5))}
    tool = chance.choice(tools)
    parameters = tool["parameters"]
    needed = parameters.get("required", [])
    arguments = {
        name: _value(schema, parameters.get("$defs", {}), words, chance)
        for name, schema in parameters.get("properties", {}).items()
        if name in needed
    }
    return {"calls": [{"tool": tool["name"], "arguments": arguments}], "prose": ""}


def _value(schema: Mapping[str, Any], named: Mapping[str, Any], words: Sequence[str], chance: random.Random) -> Any:
    """Any: JSON."""
    if "$ref" in schema:
        schema = named[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        schema = chance.choice(schema["anyOf"])
    if "enum" in schema:
        return chance.choice(schema["enum"])
    match schema.get("type"):
        case "integer":
            return chance.randrange(10)
        case "number":
            return float(chance.randrange(100))
        case "boolean":
            return chance.random() < 0.5
        case "array":
            return [_value(schema.get("items", {}), named, words, chance)]
        case "object":
            return {}
        case "null":
            return None
        case _:
            return chance.choice(words)
