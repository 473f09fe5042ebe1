"""Functions as BFCL describes them, as tools in OpenAI's form."""

from collections.abc import Mapping
from typing import Any

from palaestra.benchmarks.external.bfcl.served.package import TYPES

_TAKEN = ("finish", "give_up", "reply")
"""Calls that mean something in every benchmark; three tasks have a function called `finish`."""
_NUMBERS = ("minimum", "maximum", "minItems", "maxItems")


def tool_of(function: Mapping[str, Any]) -> dict[str, Any]:
    """A function's description as a tool. Any: JSON."""
    nothing: dict[str, Any] = {"properties": {}}
    parameters = {**nothing, **schema_of(function["parameters"]), "type": "object"}
    description = str(function.get("description", ""))
    return {
        "type": "function",
        "function": {"name": tool_name(function["name"]), "description": description, "parameters": parameters},
    }


def tool_name(name: str) -> str:
    """A function's name as models may write it: without dots, and none that means something else to every benchmark."""
    written = checked_name(name)
    return f"{written}_" if written in _TAKEN else written


def checked_name(name: str) -> str:
    """A function's name as the package's checker looks for it: without dots, as it has models write them."""
    return name.replace(".", "_")


def schema_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """A value's description as JSON Schema, with types named as Python, Java and JavaScript name them made JSON's.

    What is no keyword of JSON Schema where it stands, such as a `required` of true, is left out.
    """
    theirs = described.get("type")
    kind = TYPES.GORILLA_TO_OPENAPI.get(theirs, "string")
    schema: dict[str, Any] = {"type": kind}
    if isinstance(described.get("description"), str):
        schema["description"] = described["description"]
    if theirs == "float":
        schema["description"] = schema.get("description", "") + " This is a float type value."
        schema["format"] = "float"
    if isinstance(described.get("enum"), list) and described["enum"]:
        schema["enum"] = described["enum"]
    if "default" in described:
        schema["default"] = described["default"]
    schema |= {n: described[n] for n in _NUMBERS if isinstance(described.get(n), int | float)}
    if kind == "object" and isinstance(described.get("properties"), dict):
        schema["properties"] = {name: schema_of(of) for name, of in described["properties"].items()}
        if isinstance(described.get("required"), list):
            schema["required"] = described["required"]
    if kind == "array" and isinstance(described.get("items"), dict):
        schema["items"] = schema_of(described["items"])
    return schema
