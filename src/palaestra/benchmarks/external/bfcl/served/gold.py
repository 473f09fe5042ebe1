"""The package's own solutions, as calls: texts of calls are parsed and never evaluated, and hold literals alone."""

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from palaestra.benchmarks.external.bfcl.served.schema import tool_name
from palaestra.benchmarks.external.bfcl.served.source import WRITERS
from palaestra.benchmarks.external.protocol import WireCall

_OPTIONAL = ""
"""Stands among the values of a parameter that may be left out."""


def parse_call(text: str, parameters: Callable[[str], Sequence[str]]) -> WireCall:
    """The call that a text such as `cd(folder='documents')` stands for.

    Args:
        text: Python.
        parameters: The names of a tool's parameters, in order, for arguments without a name.

    Raises:
        ValueError: it is no call with literals for arguments.
    """
    node = ast.parse(text.strip(), mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"{text!r} is no call of a function; give one, such as ls(a=True)")
    tool = node.func.id
    named = [(keyword.arg, keyword.value) for keyword in node.keywords]
    unnamed = list(zip(parameters(tool), node.args, strict=False)) if node.args else []
    if len(unnamed) < len(node.args) or any(name is None for name, _ in named):
        raise ValueError(f"{text!r} has arguments without a parameter; name each")
    return {"tool": tool, "arguments": {str(name): ast.literal_eval(value) for name, value in [*unnamed, *named]}}


def choose_calls(
    category: str, functions: Sequence[Mapping[str, Any]], answer: Sequence[Mapping[str, Any]]
) -> list[WireCall]:
    """Calls with the first value that is accepted for each parameter; one that is null is left out where it may be.

    Args:
        category: Of the task; it says in which language arguments are written.
        functions: The task's, without hints. Any: JSON.
        answer: For each call the function's name, and for each parameter the values that are accepted.
    """
    by_name = {function["name"]: function["parameters"] for function in functions}
    return [_call(category, by_name[name], name, accepted) for call in answer for name, accepted in call.items()]


def _call(category: str, parameters: Mapping[str, Any], name: str, accepted: Mapping[str, Sequence[Any]]) -> WireCall:
    write = WRITERS.get(category)
    arguments: dict[str, Any] = {}
    for parameter, values in accepted.items():
        given = [value for value in values if value != _OPTIONAL]
        if not given and values and parameter in parameters.get("required", []):
            given = [_OPTIONAL]  # here it is a text without letters, and the one that is accepted
        described = parameters["properties"].get(parameter)
        if not given or described is None:  # some answers name a parameter that the function lacks
            continue
        if given[0] is None and _OPTIONAL in values:  # no schema takes it
            continue
        value = _plain(given[0])
        item = described.get("items", {}).get("type")
        arguments[parameter] = value if write is None else write(value, described["type"], item)
    return {"tool": tool_name(name), "arguments": arguments}


def _plain(value: Any) -> Any:
    """A value without alternatives: an object, also one in a list, has a list of them for each of its names."""
    if isinstance(value, list):
        values = cast("Sequence[Any]", value)
        return [_plain(each) if isinstance(each, dict) else each for each in values]
    if not isinstance(value, dict):
        return value
    named = cast("Mapping[str, Sequence[Any]]", value)
    given = {name: [one for one in values if one != _OPTIONAL] for name, values in named.items()}
    return {name: values[0] for name, values in given.items() if values}
