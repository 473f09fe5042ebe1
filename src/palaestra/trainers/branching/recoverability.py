"""The probability that a failed trajectory can still be solved, by the depth of the fork: DEEP-GRPO (arXiv:2602.14169).

A fork after the share r of a trajectory has weight P(solved | r) r^depth. Early forks waste correct turns, late ones
can no longer be solved; the product finds the latest recoverable fork. P is a logistic regression on r alone, refitted
to the latest forks, with a unit L2 penalty on its slope, which the published code inherits from its library.
Axes: N forks.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from palaestra.record import record

_LEAST = 10
"""Odds are fitted only with more forks than this number, as in the published code."""
_ITERATIONS, _SMALL = 50, 1e-10
"""The maximum number of Newton steps, and the change below which they end."""


@record
class RecoveryOdds:
    """P(solved | r) = sigmoid(intercept + slope r)."""

    intercept: float
    slope: float

    def probability(self, ratio: float) -> float:
        """The probability that one of a fork's continuations solves the task."""
        return float(_sigmoid(np.array(self.intercept + self.slope * ratio)))


def pivot_weights(ratios: Sequence[float], odds: RecoveryOdds | None, *, depth: float) -> list[float]:
    """The weights of forks in a draw; they sum to 1.

    Args:
        ratios: The share of the trajectory before each fork, above 0 and at most 1.
        odds: The odds of being solved; `None` before they are known, so that every fork counts as recoverable.
        depth: The exponent of the share.
    """
    raw = [(1.0 if odds is None else odds.probability(ratio)) * ratio**depth for ratio in ratios]
    return [weight / sum(raw) for weight in raw]


class RecoveryModel:
    """A model of the odds, from the latest forks.

    Args:
        window: The number of these forks.
    """

    def __init__(self, window: int) -> None:
        self._forks: deque[tuple[float, bool]] = deque(maxlen=window)

    def observe(self, ratio: float, *, solved: bool) -> None:
        """Add a fork: the share of its trajectory before it, and whether a continuation solved the task."""
        self._forks.append((ratio, solved))

    def odds(self) -> RecoveryOdds | None:
        """Fit the odds; `None` with ten forks or fewer, or while all forks have the same result."""
        if len(self._forks) <= _LEAST or len({solved for _, solved in self._forks}) < 2:
            return None
        return fit_odds([ratio for ratio, _ in self._forks], [solved for _, solved in self._forks])


def fit_odds(ratios: Sequence[float], solved: Sequence[bool]) -> RecoveryOdds:
    """Minimise the sum of log losses plus slope^2 / 2, by Newton's method.

    Args:
        ratios: The share of the trajectory before each fork, [N].
        solved: Whether each fork was solved, [N]; some must be and some not.
    """
    r = np.array(ratios, dtype=np.float64)
    y = np.array(solved, dtype=np.float64)
    x = np.stack((np.ones_like(r), r), axis=1)
    penalty = np.diag([0.0, 1.0])
    weights = np.array([np.log(y.mean() / (1 - y.mean())), 0.0])
    for _ in range(_ITERATIONS):
        p = _sigmoid(x @ weights)
        gradient = x.T @ (p - y) + penalty @ weights
        curvature = (x * (p * (1 - p))[:, None]).T @ x + penalty
        change = np.linalg.solve(curvature, gradient)
        weights = weights - change
        if np.abs(change).max() < _SMALL:
            break
    intercept, slope = weights.tolist()
    return RecoveryOdds(intercept=intercept, slope=slope)


def _sigmoid(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-x)), dtype=np.float64)
