"""Stopped before the end: finished as if done while something needed is still to do."""

from collections.abc import Iterator

from palaestra.proof.mutants.needed import needed_calls
from palaestra.proof.trial import Trial
from palaestra.proof.variants import SolutionVariant, variant
from palaestra.seeding import Stream


def truncate_solution(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """The oracle's beginning up to each needed call, and then its end."""
    del stream
    last = trial.calls[-1]
    for position in needed_calls(trial):
        what = f"finished after {position} of {len(trial.calls)} calls"
        yield variant("truncated", what, [*trial.calls[:position], last])
