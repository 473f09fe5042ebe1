"""Intervals around mean scores, by a bootstrap that resamples whole tasks.

Several episodes of one task resemble each other: their number says little about how a policy does on tasks that
were not drawn. So the task is the cluster, its mean is one observation, and only tasks are resampled: the cluster
bootstrap (Field and Welsh 2007, "Bootstrapping clustered data", J. R. Stat. Soc. B 69:369-390) with percentile
intervals (Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13).

Where no task or every task succeeded, a bootstrap has nothing to resample and would be certain; shares have the exact
binomial interval there (Clopper and Pearson 1934, Biometrika 26:404-413).

Not covered: percentile intervals are a little too narrow for few clusters, below some twenty tasks visibly so, and
the interval holds for tasks like those drawn, not for another distribution of tasks.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1 << 20
"""How many resampled tasks are held in memory at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with the interval around it."""

    mean: float
    """The estimate itself, not the mean of the resampled ones."""
    low: float
    high: float

    def text(self, *, signed: bool = False, digits: int = 1) -> str:
        """The interval in a table's cell: "12.3 [8.1, 16.4]", or "+12.3 [+8.1, +16.4]".

        Args:
            signed: Whether numbers above zero carry a plus, as differences should.
            digits: Decimal places.
        """
        form = f"{'+' if signed else ''}z.{digits}f"
        return f"{self.mean:{form}} [{self.low:{form}}, {self.high:{form}}]"


def clustered_mean(
    values: Mapping[str, Sequence[float]], *, seed: int = 0, draws: int = 10_000, level: float = 0.95
) -> Interval:
    """The mean over tasks of each task's mean, with a percentile interval over resampled tasks.

    Every task counts the same, however many values it has. To pool training seeds, append what each of them
    scored on a task to that task's values: the cluster stays the task, and the interval is for those seeds, on
    other tasks of the same kind. With one task there is nothing to resample: the interval is the point.

    Args:
        values: Scores by the task's id; neither the order of tasks nor that of a task's values matters.
        seed: Of the resampling; equal values and seed give an equal interval.
        draws: How often the tasks are resampled.
        level: The interval's nominal coverage, between 0 and 1.

    Raises:
        ValueError: there are no tasks, a task has no values, a value is not finite, or `draws` or `level` is out
            of its range.
    """
    return _interval(_task_means(values), seed=seed, draws=draws, level=level)


def clustered_share(
    values: Mapping[str, Sequence[float]],
    *,
    whole: float = 1.0,
    seed: int = 0,
    draws: int = 10_000,
    level: float = 0.95,
) -> Interval:
    """The mean as in `clustered_mean`, of values between 0 and `whole` of which none or all may have been reached.

    Where every value is 0, or every one is `whole`, the interval is the exact one for as many tries as there are tasks:
    0 of 20 tasks are compatible with a share of 17 %, and not with certainty. More samples of a task would say more of
    that task and nothing of others, so they do not narrow it.

    Args:
        values: Shares by the task's id: whether a sample succeeded, or an estimate of how often samples do.
        whole: What certain success is: 1, or 100 for percent.
        seed: Of the resampling.
        draws: How often the tasks are resampled.
        level: The interval's nominal coverage, between 0 and 1.

    Raises:
        ValueError: a value lies outside its range, or as in `clustered_mean`.
    """
    for task, scores in values.items():
        for score in scores:
            if not 0 <= score <= whole:
                raise ValueError(f"task {task!r} holds {score}; a share lies between 0 and {whole:g}")
    interval = clustered_mean(values, seed=seed, draws=draws, level=level)
    edge = whole * ((1 - level) / 2) ** (1 / len(values))
    distinct = {score for scores in values.values() for score in scores}
    if distinct == {0.0}:
        return Interval(mean=0.0, low=0.0, high=whole - edge)
    if distinct == {float(whole)}:
        return Interval(mean=interval.mean, low=edge, high=interval.mean)
    return interval


def paired_difference(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    *,
    seed: int = 0,
    draws: int = 10_000,
    level: float = 0.95,
) -> Interval:
    """How much higher the mean is after than before, on the same tasks, with an interval over resampled tasks.

    Each task is compared with itself, so what makes a task easy or hard for both sides cancels. The sides may have
    different numbers of values for a task; they pool training seeds as in `clustered_mean`. With one task the
    interval is the point.

    Args:
        before: Scores by the task's id.
        after: Scores by the task's id, of the same tasks.
        seed: Of the resampling.
        draws: How often the tasks are resampled.
        level: The interval's nominal coverage, between 0 and 1.

    Raises:
        ValueError: a task stands on one side only, or as in `clustered_mean`.
    """
    missing = {"before": sorted({*after} - {*before}), "after": sorted({*before} - {*after})}
    lacking = [f"{side} lacks {_listed(tasks)}" for side, tasks in missing.items() if tasks]
    if lacking:
        raise ValueError(f"{'; '.join(lacking)}: a paired difference needs the same tasks on both sides")
    first, second = _task_means(before), _task_means(after)
    return _interval({task: second[task] - mean for task, mean in first.items()}, seed=seed, draws=draws, level=level)


def independent_difference(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    *,
    seed: int = 0,
    draws: int = 10_000,
    level: float = 0.95,
) -> Interval:
    """How much higher the mean is after than before, on different tasks: each side's tasks are resampled by themselves.

    Args:
        before: Scores by the task's id.
        after: Scores by the task's id; a task with the same id is taken for another one.
        seed: Of the resampling; each side has a stream of its own.
        draws: How often each side's tasks are resampled.
        level: The interval's nominal coverage, between 0 and 1.

    Raises:
        ValueError: as in `clustered_mean`, for either side.
    """
    _check_resampling(draws, level)
    sides = [np.array([*_task_means(values).values()]) for values in (before, after)]
    streams = np.random.SeedSequence(seed).spawn(2)
    first, second = (_resampled(own, seed=stream, draws=draws) for own, stream in zip(sides, streams, strict=True))
    low, high = np.quantile(second - first, [(1 - level) / 2, (1 + level) / 2])
    means = [math.fsum(own) / len(own) for own in sides]
    return Interval(mean=means[1] - means[0], low=float(low), high=float(high))


def _listed(ids: Sequence[str], *, limit: int = 5) -> str:
    rest = len(ids) - limit
    return ", ".join(map(repr, ids[:limit])) + (f" and {rest} more" if rest > 0 else "")


def _task_means(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    if not values:
        raise ValueError("no tasks: a mean needs one task at least")
    for task, scores in values.items():
        if len(scores) == 0:
            raise ValueError(f"task {task!r} has no values; leave it out, or give it one value at least")
        for score in scores:
            if not math.isfinite(score):
                raise ValueError(f"task {task!r} holds {score}; every value must be a finite number")
    # Sorted, and summed exactly: no order of tasks or of values can show in the result.
    return {task: math.fsum(values[task]) / len(values[task]) for task in sorted(values)}


def _check_resampling(draws: int, level: float) -> None:
    if draws < 1:
        raise ValueError(f"draws={draws}: resample once at least; 10000 is usual")
    if not 0 < level < 1:
        raise ValueError(f"level={level}: give the interval's coverage as a fraction between 0 and 1, such as 0.95")


def _interval(means: Mapping[str, float], *, seed: int, draws: int, level: float) -> Interval:
    _check_resampling(draws, level)
    clusters = np.fromiter(means.values(), dtype=np.float64, count=len(means))
    low, high = np.quantile(_resampled(clusters, seed=seed, draws=draws), [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean=math.fsum(clusters) / len(clusters), low=float(low), high=float(high))


def _resampled(clusters: NDArray[np.float64], *, seed: int | np.random.SeedSequence, draws: int) -> NDArray[np.float64]:
    """The means of `draws` samples of the clusters, as many as there are, with replacement."""
    rng = np.random.Generator(np.random.PCG64(seed))
    count = len(clusters)
    means = np.empty(draws)
    rows = max(1, _CHUNK // count)
    for start in range(0, draws, rows):
        size = (min(rows, draws - start), count)
        means[start : start + rows] = clusters[rng.integers(count, size=size)].mean(axis=1)
    return means
