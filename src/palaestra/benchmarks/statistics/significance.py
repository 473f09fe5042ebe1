"""Tests whether a difference between two agents on the same tasks can be chance, alone and among several.

The test is Fisher's randomisation test for pairs (1935, "The Design of Experiments", section 21): if there were no
difference, each task's difference could equally have the opposite sign. So p is the share of all choices of signs under
which the sum is at least as far from zero as the observed sum. Holm's correction (1979, "A simple sequentially
rejective multiple test procedure", Scand. J. Statist. 6:65-70) keeps the probability of any false finding among several
tests below the level, whatever their dependence.

Not covered: where the sides have different numbers of samples of a task, for example after faults, signs are only
approximately exchangeable. And the test is about tasks like these, not about another distribution of tasks.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

EXACT = 16
"""Maximum number of differences for which all choices of signs are computed."""
_CHUNK = 1 << 20
"""Maximum number of signs in memory at once."""
_ROUNDING = 1e-9
"""Sums that differ by less than this share of the largest possible sum count as equal: they differ only by rounding."""


def sign_flip_p(differences: Sequence[float], *, seed: int = 0, draws: int = 20_000, exact: int = EXACT) -> float:
    """The two-sided p-value of the hypothesis that the mean of the differences is zero.

    Differences of zero have no sign and do not count. With more than `exact` other differences, signs are drawn at
    random, and the observed signs count as one of the draws, so that p is never zero and never too small (Phipson and
    Smyth 2010, "Permutation p-values should never be zero").

    Args:
        differences: One for each task.
        seed: Random seed of the signs.
        draws: Number of random draws of signs, where not all choices are computed.
        exact: Maximum number of differences for which all choices are computed.

    Raises:
        ValueError: a difference is not finite, or `draws` is below 1.
    """
    if draws < 1:
        raise ValueError(f"draws={draws}: draw signs once at least; 20000 is usual")
    for difference in differences:
        if not math.isfinite(difference):
            raise ValueError(f"a difference is {difference}; every one must be a finite number")
    # Absolute and sorted values, so that neither the order of tasks nor the order of the agents affects the random
    # signs.
    others = np.array(sorted(abs(one) for one in differences if one), dtype=np.float64)
    seen = abs(math.fsum(differences))
    if len(others) == 0:
        return 1.0
    if len(others) <= exact:
        return _at_least(seen, others, _every_sign(len(others))) / (1 << len(others))
    rng = np.random.Generator(np.random.PCG64(seed))
    rows = max(1, _CHUNK // len(others))
    reached = 0
    for start in range(0, draws, rows):
        signs = rng.integers(2, size=(min(rows, draws - start), len(others)), dtype=np.int8)
        reached += _at_least(seen, others, signs)
    return (1 + reached) / (1 + draws)


def _every_sign(count: int) -> NDArray[np.int8]:
    """All rows of `count` zeros and ones."""
    numbers = np.arange(1 << count, dtype=np.uint32)
    return ((numbers[:, np.newaxis] >> np.arange(count, dtype=np.uint32)) & 1).astype(np.int8)


def _at_least(seen: float, sizes: NDArray[np.float64], signs: NDArray[np.int8]) -> int:
    """Count rows of signs (0 minus, 1 plus) under which the sum of `sizes` is at least as far from zero as `seen`."""
    total = math.fsum(sizes)
    sums = np.abs(signs @ (2 * sizes) - total)
    return int(np.count_nonzero(sums >= seen - _ROUNDING * total))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the given order: all values below a level are findings at that level together.

    Raises:
        ValueError: a value lies outside [0, 1].
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"p={p}: a p-value lies between 0 and 1")
    adjusted = [0.0] * len(p_values)
    reached = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = reached
    return adjusted
