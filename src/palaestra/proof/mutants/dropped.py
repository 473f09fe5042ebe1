"""A needed call is dropped, or every call that shows a fact. A read counts where its fact is then not known."""

from collections.abc import Iterator

from palaestra.proof.mutants.needed import needed_calls
from palaestra.proof.trial import Trial
from palaestra.proof.variants import SolutionVariant, format_call, replace_call, variant
from palaestra.records import ToolCall
from palaestra.seeding import Stream

MOST_SOURCES = 6
"""The most calls that are dropped together."""


def drop_calls(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Each needed call left out in turn, and then each fact that several calls show, with all of them."""
    del stream
    for position in needed_calls(trial):
        yield variant("dropped", f"without {format_call(trial.calls[position])}", replace_call(trial.calls, position))
    for position, step in enumerate(trial.steps):
        if not trial.writes(step):
            for criterion in sorted(step.met & trial.without(position).counting):
                yield from _without_sources(trial, criterion)


def _without_sources(trial: Trial, criterion: str) -> Iterator[SolutionVariant]:
    """The oracle's work without the calls that meet a criterion, one after the other, until none does."""
    calls: list[ToolCall] = list(trial.calls)
    left_out: list[ToolCall] = []
    for _ in range(MOST_SOURCES):
        turns = trial.vary([(call,) for call in calls]).turns
        source = next((place for place, turn in enumerate(turns) if criterion in turn.met), None)
        if source is None:
            what = " and ".join(format_call(call) for call in left_out)
            yield variant("dropped", f"without {what}", calls)
            return
        if turns[source].changes:
            return
        left_out.append(calls.pop(source))
