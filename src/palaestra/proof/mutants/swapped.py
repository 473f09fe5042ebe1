"""Two values change places: street and city, the sums of two refunds, the reason and the record."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from palaestra.proof.arguments import ArgumentPlace, places, with_value
from palaestra.proof.trial import ENDINGS, Trial
from palaestra.proof.variants import SolutionVariant, format_call, variant
from palaestra.records import ToolCall
from palaestra.seeding import Stream

SWAPS = 8
"""How many swaps are tried for each task."""


def swap_values(trial: Trial, stream: Stream) -> Iterator[SolutionVariant]:
    """Values of one type that change places, within a call or between two calls of one tool."""
    carried = [
        (position, place)
        for position, step in enumerate(trial.steps)
        if trial.writes(step) or step.call.tool in ENDINGS
        for place in places(step.call, trial.toolbox[step.call.tool], trial.directory)
        if not place.prose
    ]
    pairs = [(a, b) for a, b in combinations(carried, 2) if _can_swap(trial, a, b)]
    for (first, one), (second, other) in stream.sample(pairs, SWAPS):
        calls = list(trial.calls)
        calls[first] = with_value(calls[first], one.path, other.value)
        calls[second] = with_value(calls[second], other.path, one.value)
        if _is_permuted(calls, trial.calls):
            continue
        if all(_fits(trial, calls[position]) for position in (first, second)):
            what = f"{one.value!r} and {other.value!r} swapped in {format_call(trial.calls[first])}"
            yield variant("swapped", what, calls)


def _can_swap(trial: Trial, a: tuple[int, ArgumentPlace], b: tuple[int, ArgumentPlace]) -> bool:
    (first, one), (second, other) = a, b
    if type(one.value) is not type(other.value) or one.value == other.value:
        return False
    return first == second or (trial.calls[first].tool == trial.calls[second].tool and one.path == other.path)


def _is_permuted(calls: Sequence[ToolCall], oracle: Sequence[ToolCall]) -> bool:
    """Whether the swap only made two calls change places: another order of the same work, which is no wrong value."""
    return sorted(map(format_call, calls)) == sorted(map(format_call, oracle))


def _fits(trial: Trial, call: ToolCall) -> bool:
    return trial.toolbox[call.tool].fits(call.arguments)
