"""The tools of every world: talk, finish, give up."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from palaestra.records import EndReason, Prose
from palaestra.tools.context import ToolContext
from palaestra.tools.tool import tool

ActKind: TypeAlias = Literal["inform", "ask", "confirm", "offer", "refuse", "apologise", "close"]
"""The acts of a message: tell, ask, ask to check, offer, refuse, apologise, say goodbye."""


@tool(latency=20)
def reply(
    context: ToolContext,
    message: Annotated[str, Prose(), Field(min_length=1)],
    act: ActKind | None = None,
    about: Annotated[str, Field(max_length=40)] | None = None,
) -> object:
    """Say something to the person you are helping. They read it; whether they answer depends on the task.

    An answer follows as a message of theirs. One question at a time gets the best answers.

    Args:
        message: What you tell them.
        act: What the message does; it is worked out from the text where you leave it out.
        about: The one thing that it is about, such as "order" or "address".
    """
    del context, message, act, about
    return {"delivered": True}


Answer = Annotated[dict[str, str | int | bool], Field(max_length=50)]


@tool()
def finish(context: ToolContext, answer: Answer | None = None) -> object:
    """End the task as done. Nothing can be done afterwards.

    Args:
        answer: The values that the task asks for, by the names that it gives; leave it out where it asks for none.
    """
    context.end(EndReason.FINISHED, dict(answer) if answer else None)
    return {"finished": True}


@tool()
def give_up(context: ToolContext, reason: Annotated[str, Prose()]) -> object:
    """End the task as not done.

    Args:
        reason: Why you cannot do it.
    """
    del reason
    context.end(EndReason.GAVE_UP)
    return {"finished": False}


CONTROL = (reply, finish, give_up)
