"""A bandit over families: what is solved about half the time has the most to teach. Axes: A families."""

from collections.abc import Sequence


class DecayedRates:
    """Solve rates of which older results count less.

    A rate is (solved + 1) / (tried + 2), the mean of a Beta posterior over a uniform prior, with counts that are
    multiplied by `memory` after each step. So what was not tried for long is expected to be solved half the time, and
    returns.

    Args:
        count: How many families there are.
        memory: What a result counts after each further step.
    """

    def __init__(self, count: int, *, memory: float) -> None:
        self._memory = memory
        self._solved = [0.0] * count
        self._tried = [0.0] * count

    def update(self, results: Sequence[tuple[int, int, int]]) -> None:
        """Take in a step's results: the place of the family, how many were solved, and of how many."""
        self._solved = [self._memory * solved for solved in self._solved]
        self._tried = [self._memory * tried for tried in self._tried]
        for place, solved, tried in results:
            self._solved[place] += solved
            self._tried[place] += tried

    def values(self) -> tuple[float, ...]:
        """The solve rate of each family, [A]."""
        return tuple((s + 1) / (n + 2) for s, n in zip(self._solved, self._tried, strict=True))


def bandit_weights(rates: Sequence[float], weights: Sequence[float], *, floor: float) -> list[float]:
    """What each family weighs in a draw, w (p (1 - p) + floor), [A].

    p (1 - p) is the variance of an outcome, and the weight that a group of solve rate p has in a gradient without
    standard deviations (arXiv:2602.14868).
    """
    return [weight * (rate * (1 - rate) + floor) for rate, weight in zip(rates, weights, strict=True)]
