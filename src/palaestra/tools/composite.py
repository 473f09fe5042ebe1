"""Composite calls: one call that stands for several actions. Either all of them run, or none.

Each action is its own event, as if it had been called directly, so a rubric need not know the agent's surface.
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
    """Run the actions of a composite call, one by one.

    They are tried first: if one of them is refused, none is run, and the only result is the refusal of the call. An
    action that ends the episode is the last.

    Args:
        toolbox: The toolbox with the composite tool and its actions.
        context: The context of the calls.
        state: The rows of the context.
        call_id: The id of the composite call; the ids of its actions begin with it.
        call: The composite call.
        past: The events of the episode so far; the results of this call are added.

    Raises:
        InfrastructureError: a tool crashed.
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
    """The number and the result of the first refused step, after the steps before it have run.

    The writes of these steps are added to `tried`.
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
    """The refusal of the composite call, for the reason of one of its steps."""
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
    """The text that the agent reads after a composite call: its refusal, or the answers of its actions in order."""
    if len(results) == 1 and results[0].event.error is not None:
        return results[0].content
    return f'{{"results":[{",".join(result.content for result in results)}]}}'
