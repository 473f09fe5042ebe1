"""Composite calls: one call that stands for several actions, run in its place, all of them or none.

Each action is an event of its own, as if it had been called by itself, so a rubric need not know on which surface an
agent acts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import orjson

from palaestra.digest import digest_bytes
from palaestra.records import ToolCall, ToolEvent, TriedWrite
from palaestra.tools.context import ToolContext
from palaestra.tools.toolbox import CallResult, JournaledState, Toolbox


def run_composite(
    toolbox: Toolbox,
    context: ToolContext,
    state: JournaledState,
    call_id: str,
    call: ToolCall,
    past: Sequence[ToolEvent],
) -> Iterator[CallResult]:
    """Run the actions that a composite call stands for, one by one as they are asked for.

    They are tried before: where one of them is refused, none is run, and the one result is the refusal of the call.
    An action that ends the episode is the last.

    Args:
        toolbox: Holds the composite tool and its actions.
        context: The world as the calls see it.
        state: The same rows.
        call_id: The id of the composite call; its actions get ids of their own that begin with it.
        call: The composite call.
        past: The events of the episode so far, with the results of this one as they come.

    Raises:
        InfrastructureError: a tool itself crashed.
    """
    actions = toolbox.actions
    assert actions is not None, f"{call.tool} is composite, but its toolbox has no actions"
    whole = toolbox.call(context, state, call_id, call, past)
    if whole.event.error is not None:
        yield whole
        return
    tool = toolbox[call.tool]
    steps = cast("list[ToolCall]", tool.function(context, **tool.validate(call.arguments)))
    mark, elapsed, waited = len(state.journal), context.clock.elapsed, context.clock.days_waited
    tried: list[TriedWrite] = []
    refusal = _first_refusal(actions, context, state, call_id, steps, past, tried)
    state.rollback(mark)
    context.clock.set_elapsed(elapsed, waited=waited)
    context.begin_call()
    if refusal is not None:
        number, step = refusal
        yield _refuse(whole, step, f"step {number}, {step.event.tool}", tried)
        return
    for number, action in enumerate(steps, 1):
        yield actions.call(context, state, f"{call_id}.{number}", action, past)
        if context.end_reason is not None:
            return


def _first_refusal(
    actions: Toolbox,
    context: ToolContext,
    state: JournaledState,
    call_id: str,
    steps: Sequence[ToolCall],
    past: Sequence[ToolEvent],
    tried: list[TriedWrite],
) -> tuple[int, CallResult] | None:
    """The number and the result of the first step that is refused, after the steps before it have run.

    The writes among them are added to `tried`.
    """
    for number, step in enumerate(steps, 1):
        result = actions.call(context, state, call_id, step, past)
        event = result.event
        if event.schema_ok and actions[event.tool].writes:
            tried.append(TriedWrite(tool=event.tool, named=event.named, error=event.error))
        if event.error is not None:
            return number, result
        if context.end_reason is not None:
            break
    return None


def _refuse(whole: CallResult, step: CallResult, where: str, tried: Sequence[TriedWrite]) -> CallResult:
    """The composite call refused for what one of its steps was refused for."""
    error = orjson.loads(step.content)["error"]
    content = orjson.dumps(
        {"error": {"code": error["code"], "message": f"{where}: {error['message']}; nothing was done"}}
    )
    event = replace(
        whole.event,
        semantic_ok=False,
        executed=False,
        error=step.event.error,
        result_digest=digest_bytes(content),
        shown=(),
        mentioned=frozenset(),
        columns=(),
        tried=tuple(tried),
    )
    return CallResult(event=event, content=content.decode())


def join_answers(results: Sequence[CallResult]) -> str:
    """What the agent reads of a composite call: its refusal, or the answers of its actions in order."""
    if len(results) == 1 and results[0].event.error is not None:
        return results[0].content
    return f'{{"results":[{",".join(result.content for result in results)}]}}'
