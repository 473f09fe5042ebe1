"""Playing an author's calls before there is a rubric: what each did, for a rubric to be derived from."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from palaestra.clock import Clock
from palaestra.envs.later import LaterEvent, happen_by
from palaestra.envs.state import Overlay
from palaestra.envs.user import Conversation, Persona, ScriptedUser
from palaestra.envs.world import World
from palaestra.errors import TaskError
from palaestra.records import EndReason, Row, RowChange, ToolCall, ToolEvent
from palaestra.rubrics.derivation import SolutionTrace, TraceStep
from palaestra.tools import ToolContext


def solution(
    world: World,
    settled: Overlay,
    calls: Iterable[ToolCall],
    *,
    start: datetime,
    rules: Any,
    user: Persona | None,
    later: Sequence[LaterEvent] = (),
    name: str = "oracle",
) -> SolutionTrace:
    """What `calls` do on a fork of `settled`, one a turn.

    Args:
        world: The world that the task is set in.
        settled: The rows as the episode begins.
        calls: Calls that solve the task.
        start: When the episode begins.
        rules: What the world goes by.
        user: Who answers what the calls tell them.
        later: What happens on later days.
        name: What the calls are called where they are wrong.

    Raises:
        TaskError: the calls do not finish.
    """
    state = settled.fork()
    context = ToolContext(
        state=state,
        clock=Clock(start),
        role=world.role,
        actor=world.actor,
        ids_in=world.schema.ids_in,
        rules=rules,
        states=state.states,
    )
    talk = None if user is None else Conversation(user, ScriptedUser(user), seed=0, is_id=settled.has_row)
    steps: list[TraceStep] = []
    past: list[ToolEvent] = []
    happened, by_world = 0, dict[tuple[str, str], Row]()
    for turn, call in enumerate(calls):
        mark = len(state.journal)
        result = world.toolbox.call(context, state, f"call_{turn}_0", call, past)
        event = result.event
        if talk is not None and event.executed and event.tool == world.toolbox.prose_tool:
            event, _ = talk.answer(event)
        past.append(event)
        if context.end_reason is not None:
            break
        steps.append(_deed(world, event, state.journal[mark:], result.content, by_world))
        mark = len(state.journal)
        happened = happen_by(later, context.clock.today, state, happened=happened)
        moved = {(c.table, c.key): c.after for c in state.journal[mark:] if c.after is not None}
        by_world = {**by_world, **moved}
    if context.end_reason is not EndReason.FINISHED:
        raise TaskError(f"{name}: does not finish; end it with call('finish')")
    return SolutionTrace(steps=tuple(steps), answer=dict(context.answer))


def _deed(
    world: World,
    event: ToolEvent,
    changes: Iterable[RowChange],
    content: str,
    by_world: Mapping[tuple[str, str], Row],
) -> TraceStep:
    return TraceStep(
        event=event,
        changes=tuple(changes),
        said=orjson.loads(content),
        prose=world.toolbox[event.tool].prose,
        by_world=by_world,
    )
