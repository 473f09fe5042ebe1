"""A needed call is dropped. A read counts only where what it showed could not be known otherwise."""

from collections.abc import Iterator

from palaestra.proof.mutants.needed import needed_calls
from palaestra.proof.trial import Trial
from palaestra.proof.variants import Variant, format_call, replace_call, variant
from palaestra.seeding import Stream


def dropped(trial: Trial, stream: Stream) -> Iterator[Variant]:
    """Each needed call left out in turn."""
    del stream
    for position in needed_calls(trial):
        yield variant("dropped", f"without {format_call(trial.calls[position])}", replace_call(trial.calls, position))
