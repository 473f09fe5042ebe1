"""Writing tools that only move a row from one status to another."""

from functools import partial
from typing import Any

from palaestra.envs.kit.generated import Parameter, generate_tool, id_annotation, noun_of
from palaestra.errors import ToolRefusal
from palaestra.records import Row
from palaestra.tools import Tool, ToolContext


def transition_tool(kind: type[Row], name: str, description: str, *, before: str, after: str) -> Tool:
    """A tool that moves a row's `status` from `before` to `after`, and is refused in any other status.

    Args:
        kind: The row class; it has a column `status`.
        name: The tool's name, such as `grant_leave`.
        description: What the agent reads.
        before: The status that the row must have.
        after: The status that it gets.
    """
    noun = noun_of(kind)
    argument, word = f"{noun}_id", noun.replace("_", " ")

    def move(context: ToolContext, **arguments: str) -> object:
        row: Any = context.state.get(kind, arguments[argument])
        if row.status != before:
            raise ToolRefusal("wrong_status", f"{row.id} is {row.status}, not {before}")
        moved = context.state.update(row, status=after)
        context.show(moved)
        return moved

    return generate_tool(
        move,
        name=name,
        description=description,
        parameters={argument: Parameter(annotation=id_annotation(kind), text=f"The {word}'s id.")},
        origin=(partial(transition_tool, kind, name, description, before=before, after=after), ()),
        writes=True,
    )
