"""Simulates how often intervals contain the true value: samples come from populations with a known mean.

Populations resemble the results of evaluations. Scores are rewards of episodes that solve, harm or do neither, with
probabilities that differ between families. Shares are counts of successes, with probabilities that are all or nothing,
uneven or even.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palaestra.benchmarks.statistics.estimates import (
    MeanEstimate,
    estimate_mean,
    estimate_share,
    independent_difference,
    paired_difference,
)
from palaestra.benchmarks.statistics.units import Observation, Unit
from palaestra.record import record
from palaestra.table import Table

_Array = NDArray[np.float64]
_EPISODES = 24
"""Episodes of a family: 3 tasks with 8 samples, as in the demo."""
_POINTS = np.array([100.0, -80.0, 20.0])
"""Points of an episode that solves, one that harms, and one that only looks things up."""
_CHANCES = np.array([0.27, 0.30, 0.43])


@record
class CoverageScale:
    """The size of the simulation."""

    samples: int = 2_000
    """Intervals of each row; a coverage of 95 % then has a standard error of 0.5 percentage points."""
    sizes: tuple[int, ...] = (8, 12, 21, 63)
    """Numbers of units: the minimum, the worlds of a suite, the demo's families, and its tasks."""


FULL = CoverageScale()
QUICK = CoverageScale(samples=200, sizes=(8, 21))


@record
class CoverageRow:
    """The coverage of one method on one population."""

    method: str
    population: str
    units: int
    truth: float
    covered: float
    """Percentage of intervals that contain the true value."""
    width: float
    """Mean width of the intervals."""


@dataclass(frozen=True, slots=True)
class _Case:
    method: str
    population: str
    truth: Callable[[int], float]
    """The true value by the number of units."""
    draw: Callable[[np.random.Generator, int], MeanEstimate]


def simulate_coverage(scale: CoverageScale = FULL, *, seed: int = 0) -> tuple[CoverageRow, ...]:
    """Draw samples, and count the intervals that contain the true value.

    Args:
        scale: The size of the simulation.
        seed: Random seed; equal seeds give equal rows.
    """
    rows: list[CoverageRow] = []
    for number, case in enumerate(_cases()):
        for size in scale.sizes:
            rng = np.random.Generator(np.random.PCG64([seed, number, size]))
            rows.append(_row(case, size, [case.draw(rng, size) for _ in range(scale.samples)]))
    return tuple(rows)


def _row(case: _Case, size: int, found: Sequence[MeanEstimate]) -> CoverageRow:
    ends = [(one.low, one.high) for one in found if one.low is not None and one.high is not None]
    truth = case.truth(size)
    held = sum(low - 1e-9 <= truth <= high + 1e-9 for low, high in ends)
    return CoverageRow(
        method=case.method,
        population=case.population,
        units=size,
        truth=truth,
        covered=100 * held / len(ends) if ends else math.nan,
        width=math.fsum(high - low for low, high in ends) / len(ends) if ends else math.nan,
    )


def coverage_table(rows: Sequence[CoverageRow]) -> Table:
    """The table of coverage: a row for each method, population and number of units."""
    return Table(
        title="Coverage of 95 % intervals",
        columns=("method", "population", "units", "true value", "covered, %", "mean width"),
        rows=tuple(
            (row.method, row.population, str(row.units), f"{row.truth:.1f}", f"{row.covered:.1f}", f"{row.width:.1f}")
            for row in rows
        ),
        note="Percent of simulated intervals that hold the true value.",
    )


def _cases() -> list[_Case]:
    even = [
        _Case(
            "share, worlds", f"even, {100 * share:g} %", _always(100 * share), _draw_shares_of(share, 50.0, Unit.WORLD)
        )
        for share in (0.1, 0.3)
    ]
    families = [
        _Case(
            "share, families",
            f"{name}, {100 * share:g} %",
            _always(100 * share),
            _draw_shares_of(share, evenness, Unit.FAMILY),
        )
        for name, evenness in (("all or nothing", 0.0), ("uneven", 2.0))
        for share in (0.05, 0.1, 0.3, 0.5)
    ]
    return [
        _Case("mean, families", "normal", _always(0.0), _draw_normal),
        _Case("mean, families", "scores", _always(float(_POINTS @ _CHANCES)), _draw_scores),
        _Case("mean, tasks of 3 a family", "skewed scores", _task_truth, _draw_tasks),
        _Case("paired difference, families", "scores, 10 points more", _always(10.0), _draw_paired),
        _Case("independent difference, families", "scores, no difference", _always(0.0), _draw_apart),
        *families,
        *even,
        _Case("share, tasks of 3 a family", "uneven", _task_share_truth, _draw_task_shares),
        _Case("paired difference of shares, families", "uneven, 30 % to 45 %", _always(15.0), _draw_paired_shares),
        _Case("independent difference of shares, families", "uneven, 30 %", _always(0.0), _draw_apart_shares),
    ]


def _always(truth: float) -> Callable[[int], float]:
    return lambda _: truth


def _observations(values: _Array, unit: Unit) -> list[Observation]:
    """Make one observation per unit."""
    keys = [f"{unit} {number}" for number in range(len(values))]
    return [
        Observation(value=float(value), task=key, family=key, world=key)
        for key, value in zip(keys, values, strict=True)
    ]


def _scores(rng: np.random.Generator, size: int) -> _Array:
    """Draw the mean score of each family's episodes."""
    chances = rng.dirichlet(2 * _CHANCES, size)
    return np.asarray(rng.multinomial(_EPISODES, chances) @ _POINTS / _EPISODES, dtype=np.float64)


def _rates(rng: np.random.Generator, size: int, share: float, evenness: float) -> _Array:
    """Draw the percentage of each unit's successful episodes; a higher `evenness` makes units more alike."""
    if evenness == 0:
        return np.where(rng.random(size) < share, 100.0, 0.0)
    chances = rng.beta(share * evenness, (1 - share) * evenness, size)
    return np.asarray(100.0 * rng.binomial(_EPISODES, chances) / _EPISODES, dtype=np.float64)


def _draw_normal(rng: np.random.Generator, size: int) -> MeanEstimate:
    return estimate_mean(_observations(rng.normal(size=size), Unit.FAMILY), Unit.FAMILY)


def _draw_scores(rng: np.random.Generator, size: int) -> MeanEstimate:
    return estimate_mean(_observations(_scores(rng, size), Unit.FAMILY), Unit.FAMILY)


def _draw_shares_of(share: float, evenness: float, unit: Unit) -> Callable[[np.random.Generator, int], MeanEstimate]:
    def draw(rng: np.random.Generator, size: int) -> MeanEstimate:
        return estimate_share(_observations(_rates(rng, size, share, evenness), unit), unit, whole=100)

    return draw


def _draw_paired(rng: np.random.Generator, size: int) -> MeanEstimate:
    scores = _scores(rng, size)
    before, after = _observations(scores, Unit.FAMILY), _observations(scores + rng.normal(10, 20, size), Unit.FAMILY)
    return paired_difference(before, after, Unit.FAMILY)


def _draw_apart(rng: np.random.Generator, size: int) -> MeanEstimate:
    before, after = (_observations(_scores(rng, own), Unit.FAMILY) for own in (21, size))
    return independent_difference(before, after, Unit.FAMILY)


def _draw_paired_shares(rng: np.random.Generator, size: int) -> MeanEstimate:
    chances = rng.beta(0.6, 1.4, size)
    lifted = chances + (1 - chances) * (15 / 70)  # the mean goes from 30 % to 45 %
    before, after = (
        _observations(100.0 * rng.binomial(_EPISODES, one) / _EPISODES, Unit.FAMILY) for one in (chances, lifted)
    )
    return paired_difference(before, after, Unit.FAMILY, whole=100)


def _draw_apart_shares(rng: np.random.Generator, size: int) -> MeanEstimate:
    before, after = (_observations(_rates(rng, own, 0.3, 2.0), Unit.FAMILY) for own in (21, size))
    return independent_difference(before, after, Unit.FAMILY, whole=100)


_CENTRES = np.array([-40.0, 75.0, 10.0, -10.0, 40.0, 0.0])
"""Mean scores of families, which are the same in every sample; families use them in turn."""
_LUCK, _LUCK_CHANCES = np.array([-30.0, 5.0, 40.0]), np.array([0.5, 0.3, 0.2])
"""Amounts that a task adds to its family's mean, with their probabilities."""
_RATES = np.array([0.05, 0.8, 0.3, 0.1, 0.5, 0.15])
"""Shares of such families, used in turn."""


def _families(tasks: int) -> NDArray[np.intp]:
    """The family of each task; a family has three tasks."""
    return np.arange(tasks) // 3


def _task_truth(size: int) -> float:
    return float(_CENTRES[_families(size) % len(_CENTRES)].mean() + _LUCK @ _LUCK_CHANCES)


def _draw_tasks(rng: np.random.Generator, size: int) -> MeanEstimate:
    families = _families(size)
    values = _CENTRES[families % len(_CENTRES)] + rng.choice(_LUCK, size, p=_LUCK_CHANCES)
    return estimate_mean(_in_families(values, families), Unit.TASK)


def _task_share_truth(size: int) -> float:
    return float(100 * _RATES[_families(size) % len(_RATES)].mean())


def _draw_task_shares(rng: np.random.Generator, size: int) -> MeanEstimate:
    families = _families(size)
    rates = _RATES[families % len(_RATES)]
    solved = rng.binomial(_EPISODES // 3, rng.beta(4 * rates, 4 * (1 - rates)))
    return estimate_share(_in_families(300.0 * solved / _EPISODES, families), Unit.TASK, whole=100)


def _in_families(values: _Array, families: NDArray[np.intp]) -> list[Observation]:
    return [
        Observation(value=float(value), task=f"task {number:03d}", family=f"family {family}")
        for number, (value, family) in enumerate(zip(values, families, strict=True))
    ]
