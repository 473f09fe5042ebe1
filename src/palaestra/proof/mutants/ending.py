"""Ended otherwise: given up, never ended, ended too soon, or without the answer that was asked for."""

from collections.abc import Iterator

from palaestra.proof.trial import Trial
from palaestra.proof.variants import SolutionVariant, move_call, replace_call, variant
from palaestra.records import ToolCall
from palaestra.seeding import Stream
from palaestra.tools import give_up


def ending(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """All of the work, and an end that says something else than that it is done."""
    del stream
    last = len(trial.calls) - 1
    if any(tool.name == give_up.name for tool in trial.offered):
        up = ToolCall(tool=give_up.name, arguments={"reason": "This cannot be done."})
        yield variant("ending", "given up after the work", replace_call(trial.calls, last, up))
    yield variant("ending", "never ended", trial.calls[:last])
    yield variant("ending", "ended before anything was done", move_call(trial.calls, last, 0))
    if trial.calls[last].arguments:
        bare = ToolCall(tool=trial.calls[last].tool, arguments={})
        yield variant("ending", "ended without the answer", replace_call(trial.calls, last, bare))
