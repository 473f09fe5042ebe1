"""pass@k and pass^k: unbiased estimates from n samples of a task of which c solved it.

pass@k is the chance that at least one of k samples solves (Chen et al. 2021, "Evaluating large language models trained
on code", equation 1); pass^k is the chance that all k do (Yao et al. 2024, "tau-bench", section 5.1). Both are the mean
over every subset of k of the n samples, in closed form. At k = 1 both are the share solved.
"""

from collections.abc import Mapping, Sequence
from math import comb

from palaestra.benchmarks.statistics import MeanEstimate, Observation, Unit, estimate_share
from palaestra.record import record


@record
class Passes:
    """How often k samples of a task solve it, in percent."""

    k: int
    tasks: int
    """Tasks with at least k samples; other tasks are in neither figure."""
    any: MeanEstimate
    """pass@k: at least one of k."""
    all: MeanEstimate
    """pass^k: each of k."""


def pass_at(k: int, samples: int, solved: int) -> float:
    """The chance that at least one of `k` samples solves: 1 - C(n - c, k) / C(n, k).

    Raises:
        ValueError: `k` is not from 1 to `samples`, or `solved` not from 0 to `samples`.
    """
    _check(k, samples, solved)
    return (comb(samples, k) - comb(samples - solved, k)) / comb(samples, k)


def pass_all(k: int, samples: int, solved: int) -> float:
    """The chance that each of `k` samples solves: C(c, k) / C(n, k).

    Raises:
        ValueError: `k` is not from 1 to `samples`, or `solved` not from 0 to `samples`.
    """
    _check(k, samples, solved)
    return comb(solved, k) / comb(samples, k)


def _check(k: int, samples: int, solved: int) -> None:
    if not 1 <= k <= samples:
        raise ValueError(f"k={k} of {samples} samples: give a k from 1 to the number of samples")
    if not 0 <= solved <= samples:
        raise ValueError(f"{solved} of {samples} samples solved; no more can be than there are")


def passes(
    attempts: Mapping[str, Sequence[Sequence[bool]]], families: Mapping[str, str] | None = None
) -> tuple[Passes, ...]:
    """pass@k and pass^k for k = 1, 2, 4, ... up to the most samples that a task has, with intervals over tasks.

    A task that lacks samples because of faults counts with those that it has, and is left out if they are fewer than k.

    Args:
        attempts: For each task, its sets of samples, each solved or not; a task that was played in several worlds has
            one set for each.
        families: The family of each task. Default: one family for all.
    """
    most = max((len(samples) for sets in attempts.values() for samples in sets), default=0)
    found: list[Passes] = []
    k = 1
    while k <= most:
        enough = {task: [own for own in sets if len(own) >= k] for task, sets in attempts.items()}
        counts = {task: [(len(own), sum(own)) for own in sets] for task, sets in enough.items() if sets}
        at = {task: [100 * pass_at(k, n, c) for n, c in sets] for task, sets in counts.items()}
        each = {task: [100 * pass_all(k, n, c) for n, c in sets] for task, sets in counts.items()}
        found.append(
            Passes(
                k=k,
                tasks=len(counts),
                any=estimate_share(_observations(at, families or {}), Unit.TASK, whole=100),
                all=estimate_share(_observations(each, families or {}), Unit.TASK, whole=100),
            )
        )
        k *= 2
    return tuple(found)


def _observations(values: Mapping[str, Sequence[float]], families: Mapping[str, str]) -> list[Observation]:
    return [
        Observation(value=value, task=task, family=families.get(task, ""))
        for task, own in values.items()
        for value in own
    ]
