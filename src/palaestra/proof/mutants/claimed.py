"""A write is only claimed: the customer is told that it was made, and it was not."""

from collections.abc import Iterator

from palaestra.proof.trial import Trial
from palaestra.proof.variants import SolutionVariant, format_call, replace_call, variant
from palaestra.records import ToolCall
from palaestra.seeding import Stream

CLAIM = "I have done it for you; everything is settled."


def claim_writes(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Each write replaced by a message that claims it."""
    del stream
    talk = trial.toolbox.prose_tool
    if talk is None:
        return
    claim = ToolCall(tool=talk, arguments={"message": CLAIM})
    for position, step in enumerate(trial.steps):
        if trial.writes(step):
            yield variant(
                "claimed", f"{format_call(step.call)} only claimed", replace_call(trial.calls, position, claim)
            )
