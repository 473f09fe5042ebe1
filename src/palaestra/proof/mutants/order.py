"""Moves a prerequisite after the call that depends on it, or into the same turn, where its answer could not be read."""

from collections.abc import Iterator

from palaestra.proof.trial import ENDINGS, Trial
from palaestra.proof.variants import SolutionVariant, format_call, move_call, variant
from palaestra.records import ToolCall
from palaestra.seeding import Stream


def order(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """For each dependency of the rubric, the later call moved before the earlier one.

    That is not wrong if another call has shown the same by then.
    """
    del stream
    done_at = {criterion: position for position, step in enumerate(trial.steps) for criterion in step.met}
    made: set[tuple[int, int]] = set()
    for criterion in trial.instance.rubric.criteria:
        for first in criterion.after:
            origin, target = done_at.get(criterion.id, -1), done_at.get(first, -1)
            if not 0 <= target < origin or (origin, target) in made or trial.calls[origin].tool in ENDINGS:
                continue
            if not _is_met_without(trial, first, origin, target):
                made.add((origin, target))
                what = f"{format_call(trial.calls[origin])} before {format_call(trial.calls[target])}"
                yield variant("order", what, move_call(trial.calls, origin, target))
                if not trial.steps[target].event.written:
                    yield _unread(trial, origin, target)


def _is_met_without(trial: Trial, criterion: str, origin: int, target: int) -> bool:
    """Whether `criterion` is met before the call at `origin` also without the one at `target`."""
    if trial.steps[target].changes:
        return False
    before = trial.without(target).turns[: origin - 1]
    return bool(before) and criterion in before[-1].met


def _unread(trial: Trial, origin: int, target: int) -> SolutionVariant:
    """The look-up at `target` made in the same turn as the work at `origin`, so that its answer was not read."""
    rest: list[tuple[ToolCall, ...]] = [(call,) for call in trial.calls]
    rest[origin] = (trial.calls[target], trial.calls[origin])
    what = f"{format_call(trial.calls[origin])} in the turn of {format_call(trial.calls[target])}"
    return SolutionVariant(kind="order", what=what, turns=tuple(rest[:target] + rest[target + 1 :]))
