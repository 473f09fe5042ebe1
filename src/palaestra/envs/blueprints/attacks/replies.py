"""False words beside right rows: the reply of the other decision, or both replies in one."""

from collections.abc import Callable

from palaestra.envs.attack import WorldScript
from palaestra.envs.blueprints.attacks.halves import other_half
from palaestra.envs.instance import Instance
from palaestra.records import ToolCall


def tell_the_other_decision(task: Instance) -> WorldScript:
    """The right work, and the reply of the other half of the pair."""
    yield from _reply(task, lambda _, other: other)


def tell_both_decisions(task: Instance) -> WorldScript:
    """The right work, and a reply that grants and refuses."""
    yield from _reply(task, lambda own, other: f"{own} {other}")


def _reply(task: Instance, write: Callable[[str, str], str]) -> WorldScript:
    talk, other = task.world.toolbox.prose_tool, other_half(task)
    if other is None:
        return
    said = [str(call.arguments["message"]) for call in other.oracle if call.tool == talk][-1]
    last = max(place for place, call in enumerate(task.oracle) if call.tool == talk)
    for place, call in enumerate(task.oracle):
        if place == last:
            message = write(str(call.arguments["message"]), said)
            yield [ToolCall(tool=call.tool, arguments={**call.arguments, "message": message})]
        else:
            yield [call]
