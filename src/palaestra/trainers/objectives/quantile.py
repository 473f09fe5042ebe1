"""Quantiles of any number of values. Axes: X values."""

import torch
from torch import Tensor


def quantile(value_X: Tensor, share: float) -> Tensor:
    """The value below which a share of all values lies, a scalar, interpolated linearly (numpy's default).

    `torch.quantile` refuses more than 16 million values.

    Args:
        value_X: The values, finite or not, in any order.
        share: From 0 for the least to 1 for the greatest.

    Returns:
        0 without values; exactly the value if the neighbours are equal.
    """
    assert 0 <= share <= 1, f"share {share} of a whole"
    if not len(value_X):
        return value_X.new_zeros(())
    ordered_X = value_X.sort().values
    place = share * (len(ordered_X) - 1)
    below = min(int(place), len(ordered_X) - 1)
    above = min(below + 1, len(ordered_X) - 1)
    if above == below or ordered_X[above] == ordered_X[below]:
        return ordered_X[below]
    return torch.lerp(ordered_X[below], ordered_X[above], place - below)
