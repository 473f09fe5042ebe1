"""Errors of a method's estimates against near-exact advantages: bias, deviation, correlation and signs.

Estimates of a turn share a continuation, a set of companions, or neither (see `resampling`). For two estimates that
share neither, half the squared difference is the variance over groups with everything sampled anew. For two that share
the continuation, it is the companions' part of the variance, with the trajectory fixed. All squares are corrected for
the noise of finite samples, so that they do not grow where fewer episodes are sampled.

Intervals resample units (families or tasks) with replacement. The standard error over resamples is multiplied by
Student's quantile, because percentile bootstrap intervals cover too little with few units, and by sqrt(K / (K - 1)),
because the variance over resamples is that of a sample that is divided by K. Figures in the units of
rewards use the given factor; only the interval of the factor itself fits it again. Interval ends are clipped to the
range of the figure.

Axes: N turns, G continuations, W groups of each, K units, B resamples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from palaestra.benchmarks.credit.resampling import Estimates
from palaestra.benchmarks.statistics import FEWEST, Unit
from palaestra.benchmarks.statistics.distributions import t_quantile

_Floats = NDArray[np.float64]
_RESAMPLES = 2000
_ROUNDING = 1e-9
"""Maximum distance from 0 of a sum that is 0 up to rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredTurns:
    """The turns that methods are scored on; every field has one entry per turn."""

    exact: tuple[float, ...]
    """Near-exact advantages."""
    errors: tuple[float, ...]
    """The standard errors of the advantages."""
    tasks: tuple[str, ...]
    families: tuple[str, ...]

    @property
    def unit(self) -> Unit:
        """The unit that intervals resample: families where there are enough, otherwise tasks."""
        return Unit.FAMILY if len(set(self.families)) >= FEWEST else Unit.TASK

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Turns whose near-exact advantage exceeds its standard error in absolute value, [N]."""
        return np.abs(self.exact) > np.array(self.errors) + _ROUNDING


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditFigures:
    """The figures of a method. Figures in the units of rewards are computed after scaling."""

    scale: float
    """The factor, fitted by least squares, from mean estimates to near-exact advantages; 0 where they do not rise
    together."""
    mean_bias: float
    """The mean over turns of estimate minus near-exact advantage."""
    bias: float
    """The root mean square over turns of the bias of each turn."""
    deviation: float
    """The root mean square over turns of the standard deviation of one estimate."""
    group_deviation: float
    """The companions' part of the deviation, with the trajectory fixed."""
    error: float
    """The root mean square error of one estimate: bias and deviation together."""
    correlation: float
    """The correlation of one estimate with the advantage, over turns."""
    mean_correlation: float
    """The correlation of the mean of infinitely many estimates with the advantage; only bias lowers it."""
    sign_agreement: float
    """The percentage of estimates with the right sign, over decided turns; an estimate of 0 has no sign."""
    zeros: float
    """The percentage of estimates that are 0, over decided turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodScore:
    """A method's figures with 95 % intervals."""

    figures: CreditFigures
    low: Mapping[str, float] = field(default_factory=dict[str, float])
    """The lower ends by the figure's name; empty with fewer than 8 units."""
    high: Mapping[str, float] = field(default_factory=dict[str, float])


FIGURES = tuple(one.name for one in fields(CreditFigures))


def score_method(turns: ScoredTurns, estimates: Estimates, *, scale: float | None = None, seed: int = 0) -> MethodScore:
    """Score a method's estimates.

    Args:
        turns: The scored turns with their near-exact advantages.
        estimates: [N, G, W].
        scale: The factor on the estimates; by default fitted by least squares.
        seed: Random seed of the resamples.

    Raises:
        ValueError: there is not one row for each turn.
    """
    if len(estimates) != len(turns.exact):
        raise ValueError(f"{len(estimates)} rows of estimates for {len(turns.exact)} turns; give one for each")
    unit = turns.unit
    keys = turns.families if unit is Unit.FAMILY else turns.tasks
    sums = _sums_by_unit(turns, estimates, keys)
    figures = _figures(sums.sum(0), scale)
    units = len(sums)
    if units < FEWEST:
        return MethodScore(figures=figures)
    rng = np.random.Generator(np.random.PCG64(seed))
    resampled = rng.multinomial(units, np.full(units, 1 / units), size=_RESAMPLES) @ sums
    held = [_figures(one, figures.scale) for one in resampled]
    quantile = t_quantile(0.975, units - 1) * sqrt(units / (units - 1))
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    for name in FIGURES:
        if name == "scale" and scale is None:
            values = np.array([_fitted_scale(one) for one in resampled])
        else:
            values = np.array([getattr(one, name) for one in held])
        off = quantile * float(np.nanstd(values, ddof=1)) if np.isfinite(values).sum() > 1 else nan
        least, most = _RANGES.get(name, (0.0, inf))
        ends = np.clip(getattr(figures, name) + np.array([-off, off]), least, most)  # NaN stays NaN
        low[name], high[name] = ends.tolist()
    return MethodScore(figures=figures, low=low, high=high)


_RANGES = {
    "mean_bias": (-inf, inf),
    "correlation": (-1.0, 1.0),
    "mean_correlation": (-1.0, 1.0),
    "sign_agreement": (0.0, 100.0),
    "zeros": (0.0, 100.0),
}
"""The range of a figure; figures that are not listed are at least 0."""
_SUMS = ("n", "x", "a", "xa", "xx", "aa", "variance", "group", "decided", "right", "zero")
"""The sums over turns: means of estimates, advantages, their products, variances, and counts of signs."""


def _sums_by_unit(turns: ScoredTurns, estimates: Estimates, keys: Sequence[str]) -> _Floats:
    """The sums of each unit, [K, sums]; squares are corrected for noise."""
    exact_N, error_N = np.array(turns.exact), np.array(turns.errors)
    mean_N = estimates.mean((1, 2))
    total_N, shared_own_N, noise_N = _variances(estimates)
    decided_N = turns.decided
    agree_N = (np.sign(estimates) == np.sign(exact_N)[:, None, None]).mean((1, 2))
    rows = np.stack(
        [
            np.ones_like(mean_N),
            mean_N,
            exact_N,
            mean_N * exact_N,
            mean_N**2 - noise_N,
            exact_N**2 - error_N**2,
            total_N,
            shared_own_N,
            decided_N,
            decided_N * agree_N,
            decided_N * (estimates == 0).mean((1, 2)),
        ],
        axis=1,
    )
    names, owner_N = np.unique(np.array(keys), return_inverse=True)
    sums = np.zeros((len(names), len(_SUMS)))
    np.add.at(sums, owner_N, rows)
    return sums


def _variances(estimates: Estimates) -> tuple[_Floats, _Floats, _Floats]:
    """The variance of one estimate, the companions' part of it, and the variance of the mean of all, [N] each.

    Column 0 pairs continuation k with companions k, column 1 with companions k + 1. Estimates of a column share
    nothing, those of a row share the continuation, and (k, 0) shares its companions with (k - 1, 1).
    """
    groups = estimates.shape[1]
    total_N = estimates.var(axis=1, ddof=1).mean(1)
    shared_own_N = ((estimates[:, :, 0] - estimates[:, :, 1]) ** 2).mean(1) / 2
    shared_group_N = ((estimates[:, :, 0] - np.roll(estimates[:, :, 1], 1, axis=1)) ** 2).mean(1) / 2
    own_N, group_N = total_N - shared_own_N, total_N - shared_group_N
    both_N = shared_own_N + shared_group_N - total_N
    return total_N, shared_own_N, (own_N + group_N + both_N / 2) / groups


def _fitted_scale(sums: _Floats) -> float:
    """The factor on mean estimates by least squares; 0 where they do not rise with the advantages."""
    s = dict(zip(_SUMS, sums.tolist(), strict=True))
    return max(0.0, s["xa"] / s["xx"]) if s["xx"] > 0 else 0.0


def _figures(sums: _Floats, scale: float | None) -> CreditFigures:
    s = dict(zip(_SUMS, sums.tolist(), strict=True))
    n = s["n"]
    scale = _fitted_scale(sums) if scale is None else scale
    bias_squared = max(0.0, (s["aa"] - 2 * scale * s["xa"] + scale**2 * s["xx"]) / n)
    variance = max(0.0, scale**2 * s["variance"] / n)
    covariance = s["xa"] / n - s["x"] * s["a"] / n**2
    exact_variance = s["aa"] / n - (s["a"] / n) ** 2
    mean_variance = s["xx"] / n - (s["x"] / n) ** 2
    return CreditFigures(
        scale=scale,
        mean_bias=(scale * s["x"] - s["a"]) / n,
        bias=sqrt(bias_squared),
        deviation=sqrt(variance),
        group_deviation=scale * sqrt(max(0.0, s["group"] / n)),
        error=sqrt(bias_squared + variance),
        correlation=_correlation(covariance, exact_variance, mean_variance + s["variance"] / n),
        mean_correlation=_correlation(covariance, exact_variance, mean_variance),
        sign_agreement=100 * s["right"] / s["decided"] if s["decided"] else nan,
        zeros=100 * s["zero"] / s["decided"] if s["decided"] else nan,
    )


def _correlation(covariance: float, first: float, second: float) -> float:
    """A correlation, between -1 and 1, from two variances; NaN where one side does not vary beyond its noise."""
    return max(-1.0, min(1.0, covariance / sqrt(first * second))) if min(first, second) > 0 else nan
