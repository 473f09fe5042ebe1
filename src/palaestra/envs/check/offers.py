"""What an agent is offered: tools whose schemas it can be shown, and draws of actions that fit them."""

import re
from collections.abc import Mapping
from typing import Any, cast

from palaestra.digest import canonical
from palaestra.envs.check.subject import Subject
from palaestra.envs.env import ToolEnv
from palaestra.records import ToolCall
from palaestra.seeding import Stream
from palaestra.tools import sample_value

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DRAWS = 50


def check_tools(subject: Subject) -> None:
    """`info["tools"]` at reset holds named, described functions whose schemas are JSON and can be drawn from."""
    _, info = subject.make().reset(seed=subject.seeds[0])
    exports = cast("tuple[Mapping[str, Any], ...]", info["tools"])
    names: set[str] = set()
    for export in exports:
        function: Mapping[str, Any] = export.get("function", {})
        complaint = _complaint(export, function)
        if complaint is None and function["name"] in names:
            complaint = "another tool has this name"
        if complaint is not None:
            raise subject.fault(
                f"tool {function.get('name')!r}: {complaint}",
                "a tool is exported as {type: function, function: {name, description, parameters}} with a name "
                "of its own and words for itself and each argument",
                "Declare it with palaestra.tools.tool",
            )
        names.add(function["name"])


def _complaint(export: Mapping[str, Any], function: Mapping[str, Any]) -> str | None:
    """What is wrong with one exported tool."""
    if export.get("type") != "function" or not _NAME.fullmatch(str(function.get("name", ""))):
        return "it is no function with a name of 1 to 64 letters, digits, _ and -"
    if not function.get("description"):
        return "it has no description"
    schema: Mapping[str, Any] = function.get("parameters", {})
    properties: Mapping[str, Any] = schema.get("properties", {})
    if schema.get("type") != "object" or not set(schema.get("required", ())) <= set(properties):
        return "its parameters are no object schema whose required names are properties"
    if bare := [name for name, part in properties.items() if not part.get("description")]:
        return f"{', '.join(bare)} has no description"
    try:
        canonical(dict(schema))
        sample_value(schema, Stream.root("check-tools"))
    except (TypeError, ValueError) as error:
        return f"its schema cannot be written as JSON and drawn from: {error}"
    return None


def check_actions(subject: Subject) -> None:
    """`action_space.sample()` lies in the space, and the ids of `legal_actions()` name rows that stand."""
    env = subject.make()
    for seed in subject.seeds:
        env.reset(seed=seed)
        env.action_space.seed(seed)
        for action in (env.action_space.sample() for _ in range(_DRAWS)):
            if action not in env.action_space:
                raise subject.fault(
                    f"action_space.sample() drew {action!r:.200}, which action_space.contains refuses",
                    "a space contains what it samples",
                    "Let both read the tools' schemas",
                )
        for action in env.legal_actions(_DRAWS):
            call = cast("Mapping[str, Any]", action)
            for id_ in _missing(env, ToolCall(tool=call["tool"], arguments=call["arguments"])):
                raise subject.fault(
                    f"legal_actions() drew {action!r:.200}, but there is no row {id_!r}",
                    "the ids of a legal action name rows that stand",
                    "Draw them from the rows as they are now",
                )


def _missing(env: ToolEnv, call: ToolCall) -> list[str]:
    """The ids in a call that name no row, of tables that have rows."""
    missing: list[str] = []
    tool = next(tool for tool in env.offered_tools if tool.name == call.tool)
    for name, table in tool.references.items():
        known = {*env.table_ids(table)}
        value = call.arguments.get(name)
        ids = cast("list[str]", value if isinstance(value, list) else [value] if value is not None else [])
        missing += [id_ for id_ in ids if known and id_ not in known]
    return missing
