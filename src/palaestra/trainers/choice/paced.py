"""PACED's estimate of solve rates from a partition function (arXiv:2602.12642). Axes: A families, F features.

With the loss (log Z(x) + log pi(y|x) - log pi_old(y|x) - r / beta)^2, the best log Z is the mean of r / beta, minus the
divergence of the policy from the sampling policy, which is 0 when groups are sampled. So beta log Z is the solve rate.
The paper's Z is a network over embeddings of prompts. Here it is linear in a family's features, and the loss of a
window has its minimum in closed form, in which beta cancels.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_RIDGE, _PRIOR = 2.0, 0.5
"""The prior's weight as a number of results, and the prior's solve rate."""


class PartitionHead:
    """beta log Z = 1/2 + w x by ridge regression on rewards of 0 and 1; older rewards have less weight.

    Args:
        features: The features of each family, [A, F].
        memory: The factor on a result's weight with each further step.
    """

    def __init__(self, features: npt.NDArray[np.float64], *, memory: float) -> None:
        self._features = features
        self._memory = memory
        self._tried = np.zeros(len(features))
        self._solved = np.zeros(len(features))

    def update(self, results: Sequence[tuple[int, int, int]]) -> None:
        """Add a step's results: the family's index, the number of solved trajectories, and the number of all."""
        self._tried *= self._memory
        self._solved *= self._memory
        for place, solved, tried in results:
            self._solved[place] += solved
            self._tried[place] += tried

    def values(self) -> tuple[float, ...]:
        """The solve rate of each family, [A], clipped to 0 and 1; the estimate itself is not bounded."""
        x = self._features
        inner = x.T @ (self._tried[:, None] * x) + _RIDGE * np.eye(x.shape[1])
        weights = np.linalg.solve(inner, x.T @ (self._solved - _PRIOR * self._tried))
        return tuple(np.clip(_PRIOR + x @ weights, 0.0, 1.0).tolist())
