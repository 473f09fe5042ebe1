"""Goldilocks (arXiv:2602.14868): a predictor of a task's utility for learning. Axes: A families, F features.

Families replace the paper's questions, and a family's features replace a question's embedding.
"""

from collections import deque
from collections.abc import Sequence
from math import sqrt

import numpy as np
import numpy.typing as npt

_STEPS, _RATE, _DECAY = 200, 10.0, 1e-3
"""Gradient steps after each step of training, their rate, and the weight decay. The paper states none of them."""
_RARE = 1e-3
"""The least share of groups by which a feature's step is divided."""


def solve_utility(rate: float) -> float:
    """sqrt(p (1 - p)), 0 to 1/2: the weight of a group with solve rate p in a gradient that divides by deviations."""
    return sqrt(rate * (1 - rate))


class UtilityPredictor:
    """A predictor f = sigmoid(w x) / 2, fitted by least squares to the utilities of the groups in a window.

    Args:
        features: The features of each family, [A, F].
        window: The number of groups in the window.
    """

    def __init__(self, features: npt.NDArray[np.float64], *, window: int) -> None:
        self._features = features
        self._weights = np.zeros(features.shape[1])
        self._results: deque[tuple[int, float]] = deque(maxlen=window)

    def update(self, results: Sequence[tuple[int, int, int]]) -> None:
        """Add a step's results (the family's index, the numbers of solved and of all trajectories), then fit."""
        self._results.extend((place, solve_utility(solved / tried)) for place, solved, tried in results if tried)
        if not self._results:
            return
        count = len(self._features)
        places = np.array([place for place, _ in self._results])
        seen = np.bincount(places, minlength=count) / len(places)
        total = np.bincount(places, weights=[utility for _, utility in self._results], minlength=count) / len(places)
        shared = np.maximum(self._features.T @ seen, _RARE)
        for _ in range(_STEPS):
            half = 1 / (1 + np.exp(-(self._features @ self._weights)))
            # The gradient of the mean of (half / 2 - y)^2 over groups; for each feature, over the groups that have it.
            slope = (seen * half / 2 - total) * half * (1 - half)
            self._weights -= _RATE * (self._features.T @ slope) / shared + _DECAY * self._weights

    def values(self) -> tuple[float, ...]:
        """The expected utility of each family, [A], 0 to 1/2; 1/4 before any result."""
        return tuple((0.5 / (1 + np.exp(-(self._features @ self._weights)))).tolist())
