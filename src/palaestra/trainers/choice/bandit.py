"""A bandit over families: families that are solved about half the time teach the most. Axes: A families."""

from collections.abc import Sequence


class DecayedRates:
    """Solve rates in which older results have less weight.

    A rate is (solved + 1) / (tried + 2), the mean of a Beta posterior with a uniform prior; counts are multiplied by
    `memory` after each step. So the rate of a family that was not tried for long returns to one half, and the family is
    drawn again.

    Args:
        count: The number of families.
        memory: The factor on a result's weight with each further step.
    """

    def __init__(self, count: int, *, memory: float) -> None:
        self._memory = memory
        self._solved = [0.0] * count
        self._tried = [0.0] * count

    def update(self, results: Sequence[tuple[int, int, int]]) -> None:
        """Add a step's results: the family's index, the number of solved trajectories, and the number of all."""
        self._solved = [self._memory * solved for solved in self._solved]
        self._tried = [self._memory * tried for tried in self._tried]
        for place, solved, tried in results:
            self._solved[place] += solved
            self._tried[place] += tried

    def values(self) -> tuple[float, ...]:
        """The solve rate of each family, [A]."""
        return tuple((s + 1) / (n + 2) for s, n in zip(self._solved, self._tried, strict=True))


def bandit_weights(rates: Sequence[float], weights: Sequence[float], *, floor: float) -> list[float]:
    """The weight of each family in a draw, w (p (1 - p) + floor), [A].

    p (1 - p) is the variance of an outcome, and the weight of a group with solve rate p in a gradient without division
    by standard deviations (arXiv:2602.14868).
    """
    return [weight * (rate * (1 - rate) + floor) for rate, weight in zip(rates, weights, strict=True)]
