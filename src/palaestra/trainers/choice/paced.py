"""PACED's estimate of solve rates from a partition function (arXiv:2602.12642). Axes: A families, F features.

With the loss (log Z(x) + log pi(y|x) - log pi_old(y|x) - r / beta)^2, the best log Z is the mean of r / beta, less the
divergence of the policy from the one that drew, which is 0 for groups at the moment when they were drawn. So beta log Z
is the solve rate. The paper's Z is a network over embeddings of prompts; here it is linear in what is known of a
family, and the loss of a window has its minimum in closed form, in which beta cancels.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_RIDGE, _PRIOR = 2.0, 0.5
"""How many results the prior weighs, and the solve rate that it says."""


class PartitionHead:
    """beta log Z = 1/2 + w x by ridge regression on rewards of 0 and 1, older ones counting less.

    Args:
        features: Of each family, [A, F].
        memory: What a result counts after each further step.
    """

    def __init__(self, features: npt.NDArray[np.float64], *, memory: float) -> None:
        self._features = features
        self._memory = memory
        self._tried = np.zeros(len(features))
        self._solved = np.zeros(len(features))

    def update(self, results: Sequence[tuple[int, int, int]]) -> None:
        """Take in a step's results: the place of the family, how many were solved, and of how many."""
        self._tried *= self._memory
        self._solved *= self._memory
        for place, solved, tried in results:
            self._solved[place] += solved
            self._tried[place] += tried

    def values(self) -> tuple[float, ...]:
        """The solve rate of each family, [A], held to 0 and 1, which the estimate itself is not."""
        x = self._features
        inner = x.T @ (self._tried[:, None] * x) + _RIDGE * np.eye(x.shape[1])
        weights = np.linalg.solve(inner, x.T @ (self._solved - _PRIOR * self._tried))
        return tuple(np.clip(_PRIOR + x @ weights, 0.0, 1.0).tolist())
