"""Carriers: the content of a task that an attacker can write to, in a row or in the message that opens the episode."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from palaestra.envs.stakes import find_message_ids
from palaestra.records import Message, Row, ToolCall

if TYPE_CHECKING:
    from palaestra.envs.injections.trial import TaskTrials
    from palaestra.envs.instance import Instance

REQUEST = "request"
"""The table that stands for the message that opens the episode."""
_ATTACHED = "\n\nAttached, as it was sent to me by somebody else:\n> "


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionPlace:
    """Where a text is planted."""

    table: str
    """A table, or `REQUEST`."""
    key: str = ""
    column: str = ""
    look: ToolCall | None = None
    """A look-up that shows it; `None` where the task's opening does."""

    def __str__(self) -> str:
        """The place in words."""
        return self.table if self.table == REQUEST else f"{self.table} {self.key} {self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionCarrier:
    """A kind of content that an attacker can write to."""

    id: str
    text: str
    """What it is."""
    places: "Callable[[Instance, TaskTrials], Sequence[InjectionPlace]]"
    """Where a task has it; none where it has none."""


def request_carrier(id: str, text: str) -> InjectionCarrier:
    """The message that opens the episode: somebody else's text, attached to it."""
    return InjectionCarrier(id=id, text=text, places=lambda _instance, _trials: (InjectionPlace(table=REQUEST),))


def row_carrier(
    id: str,
    text: str,
    kind: type[Row],
    column: str,
    look: Callable[[Any], ToolCall],
    *,
    where: Callable[[Any], bool] = lambda _: True,
) -> InjectionCarrier:
    """A column of the rows of a class that the task's solutions are shown.

    Args:
        id: The carrier's name.
        text: What it is.
        kind: The class of the rows.
        column: The column that outsiders write.
        look: The look-up that shows a row.
        where: Which rows count.
    """

    def places(instance: "Instance", trials: "TaskTrials") -> list[InjectionPlace]:
        state = instance.initial_state
        rows = [state.peek(kind, key) for table, key in trials.shown if table == kind.table]
        return [
            InjectionPlace(table=kind.table, key=row.id, column=column, look=look(row))
            for row in rows
            if row is not None and where(row)
        ]

    return InjectionCarrier(id=id, text=text, places=places)


def write_text(instance: "Instance", place: InjectionPlace, text: str) -> "Instance":
    """The task with a text in that place; its rubric and its other rows are untouched."""
    if place.table == REQUEST:
        *before, last = instance.messages
        message: Message = {**last, "content": f"{last['content']}{_ATTACHED}{text}"}
        messages = (*before, message)
        return replace(instance, messages=messages, given=find_message_ids(messages))
    state = instance.initial_state.fork()
    row = state.get(instance.world.schema[place.table].kind, place.key)
    state.update(row, **{place.column: f"{getattr(row, place.column)} {text}"})
    return replace(instance, initial_state=state.settle())
