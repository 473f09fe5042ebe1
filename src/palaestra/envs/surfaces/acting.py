"""The generic tools that act: each stands for actions of the world, which are run in its place, all or none."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

from pydantic import Field, WithJsonSchema

from palaestra.errors import ToolRefusal, UnknownNameError
from palaestra.records import Json, JsonObject, ToolCall
from palaestra.seeding import Stream
from palaestra.tools import Tool, Toolbox, ToolContext, legal_call, tool
from palaestra.tools.tool import Origin

_STEP = {
    "type": "object",
    "properties": {"action": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["action"],
    "additionalProperties": False,
}
# Any: each action has a schema of its own and refuses what does not fit it; a step that is none is refused below.
Step: TypeAlias = Annotated[dict[str, Any], WithJsonSchema(_STEP)]
Arguments: TypeAlias = dict[str, Any]
Scalar: TypeAlias = str | int | float | bool

MOST_STEPS = 12
"""The most actions of one workflow."""
MOST_RUNS = 40
"""The most runs of one bulk update."""


def acting_tools(actions: Toolbox, role: str, origin: Callable[[str], Origin]) -> list[Tool]:
    """The tools that run `actions`; none where `role` may take none.

    Args:
        actions: What a step may be.
        role: The role in which the agent acts; steps are drawn for it.
        origin: What gives a tool of some name again after pickling.
    """
    if not actions.tools_for(role):
        return []
    actor = _Actor(actions, role)
    workflow = tool(
        writes=True, latency=1, composite=True, draw=actor.legal_steps, origin=origin("run_workflow")
    )(actor.run_workflow)  # fmt: skip
    bulk = tool(
        writes=True, latency=1, composite=True, draw=actor.legal_bulk, origin=origin("bulk_update")
    )(actor.bulk_update)  # fmt: skip
    return [workflow, bulk]


class _Actor:
    """Reads steps as calls of actions, and draws legal ones."""

    def __init__(self, actions: Toolbox, role: str) -> None:
        self._actions = actions
        self._offered = actions.tools_for(role)

    def run_workflow(
        self, context: ToolContext, steps: Annotated[list[Step], Field(min_length=1, max_length=MOST_STEPS)]
    ) -> object:
        """Run actions in order, all or none: if one is refused, nothing is done.

        Args:
            steps: Each is {"action": name, "arguments": {...}}. `describe` lists the actions and their arguments.
        """
        return [self._call(context, number, step) for number, step in enumerate(steps, 1)]

    def bulk_update(
        self,
        context: ToolContext,
        action: str,
        over: str,
        values: Annotated[list[Scalar], Field(min_length=1, max_length=MOST_RUNS)],
        arguments: Arguments | None = None,
    ) -> object:
        """Run one action for many values of one argument, all or none.

        Args:
            action: The action; `describe` lists them.
            over: The argument that differs from run to run.
            values: Its values, one for each run.
            arguments: The arguments that are the same in every run.
        """
        same = arguments or {}
        if over in same:
            raise ToolRefusal("bad_step", f"{over!r:.60} differs from run to run; leave it out of `arguments`")
        return [
            self._call(context, number, {"action": action, "arguments": {**same, over: value}})
            for number, value in enumerate(values, 1)
        ]

    def _call(self, context: ToolContext, number: int, step: dict[str, Json]) -> ToolCall:
        """The action that a step asks for."""
        name, arguments = step.get("action"), step.get("arguments", {})
        if step.keys() - {"action", "arguments"} or not isinstance(name, str):
            raise ToolRefusal("bad_step", f'step {number}: write {{"action": name, "arguments": {{...}}}}')
        if name not in self._actions:
            offered = [t.name for t in self._actions.tools_for(context.role)]
            raise ToolRefusal("bad_step", f"step {number}: {UnknownNameError.of('action', name[:60], offered)}")
        if not isinstance(arguments, dict):
            raise ToolRefusal("bad_step", f"step {number}: `arguments` is an object of the action's arguments")
        return ToolCall(tool=name, arguments=arguments)

    def legal_steps(self, ids: Callable[[str], Sequence[str]], stream: Stream) -> JsonObject:
        """A workflow of one action whose ids exist."""
        drawn = legal_call(self._offered, ids, stream)
        return {"steps": [{"action": drawn.tool, "arguments": dict(drawn.arguments)}]}

    def legal_bulk(self, ids: Callable[[str], Sequence[str]], stream: Stream) -> JsonObject:
        """One run of an action whose ids exist."""
        drawn = legal_call(self._offered, ids, stream)
        arguments = dict(drawn.arguments)
        single = sorted(name for name, value in arguments.items() if isinstance(value, Scalar))
        over = stream.choice(single) if single else "id"
        return {"action": drawn.tool, "over": over, "values": [arguments.pop(over, "")], "arguments": arguments}
