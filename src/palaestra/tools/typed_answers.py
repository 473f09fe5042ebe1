"""`finish` for worlds whose tasks ask for numbers with fractions, or for lists.

It replaces `control.finish` in a world's toolbox (`TYPED_CONTROL` for `CONTROL`). The two differ in the schema that the
agent reads, so a world whose answers are words and whole numbers keeps the smaller one.
"""

from typing import Annotated, Any, TypeAlias, cast

from pydantic import Field

from palaestra.records import EndReason, Json
from palaestra.tools.context import ToolContext
from palaestra.tools.control import give_up, reply
from palaestra.tools.tool import tool

Single: TypeAlias = str | int | float | bool
TypedAnswer = Annotated[dict[str, Single | Annotated[list[Single], Field(max_length=500)]], Field(max_length=50)]


@tool()
def finish(context: ToolContext, answer: TypedAnswer | None = None) -> object:
    """End the task as done. Nothing can be done afterwards.

    Args:
        answer: The values that the task asks for, by the names that it gives: text, numbers, true or false, or lists of
            them; leave it out where it asks for none.
    """
    context.end(EndReason.FINISHED, {name: _one_form(value) for name, value in (answer or {}).items()} or None)
    return {"finished": True}


def _one_form(value: Any) -> Json:
    """The value without minus zero, which is written differently but is the same number."""
    if isinstance(value, list):
        return [_one_form(item) for item in cast("list[object]", value)]
    return 0.0 if isinstance(value, float) and not value else value


TYPED_CONTROL = (reply, finish, give_up)
