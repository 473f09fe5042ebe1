"""A write is made twice: at once, or again when all is done."""

from collections.abc import Iterator

from palaestra.proof.trial import Trial
from palaestra.proof.variants import SolutionVariant, format_call, insert_calls, variant
from palaestra.seeding import Stream


def repeat_writes(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Each write once more. Where the world refuses the second, or it changes nothing, that is the same work."""
    del stream
    last = len(trial.calls) - 1
    for position, step in enumerate(trial.steps):
        if trial.writes(step):
            yield variant("repeated", f"{format_call(step.call)} twice", insert_calls(trial.calls, position, step.call))
            yield variant("repeated", f"{format_call(step.call)} again", insert_calls(trial.calls, last, step.call))
