"""Sums, means and extremes of things by owner: a turn, a trajectory or a group. Axes: X things, O owners."""

import torch
from torch import Tensor


def sum_over(value_X: Tensor, owner_X: Tensor, owners: int) -> Tensor:
    """The sum over each owner's things, [O, ...]; 0 for an owner without any.

    Args:
        value_X: The value of each thing.
        owner_X: The owner of each thing, below `owners`.
        owners: The number of owners.
    """
    return value_X.new_zeros(owners, *value_X.shape[1:]).index_add(0, owner_X, value_X)


def count_over(inside_X: Tensor, owner_X: Tensor, owners: int) -> Tensor:
    """The number of each owner's things with `inside_X`, [O]."""
    return torch.bincount(owner_X[inside_X], minlength=owners)


def mean_over(value_X: Tensor, owner_X: Tensor, owners: int) -> Tensor:
    """The mean over each owner's things, [O, ...]; 0 for an owner without any."""
    count_O = torch.bincount(owner_X, minlength=owners).clamp_min(1)
    return sum_over(value_X, owner_X, owners) / count_O.reshape(-1, *(1 for _ in value_X.shape[1:]))


def greatest_over(value_X: Tensor, owner_X: Tensor, owners: int) -> Tensor:
    """The maximum of each owner's values, [O]; 0 for an owner without any."""
    return value_X.new_zeros(owners).scatter_reduce(0, owner_X, value_X, "amax", include_self=False)


def least_over(value_X: Tensor, owner_X: Tensor, owners: int) -> Tensor:
    """The minimum of each owner's values, [O]; 0 for an owner without any."""
    return value_X.new_zeros(owners).scatter_reduce(0, owner_X, value_X, "amin", include_self=False)


def variance_over(value_X: Tensor, owner_X: Tensor, owners: int, *, ddof: int = 1) -> Tensor:
    """The variance of each owner's values, [O]; 0 for an owner with too few, and exactly 0 if all are equal.

    Args:
        value_X: The value of each thing.
        owner_X: The owner of each thing.
        owners: The number of owners.
        ddof: 1 for the sample's variance, 0 for the population's.
    """
    off_X = centre(value_X, owner_X, owners)
    count_O = torch.bincount(owner_X, minlength=owners)
    variance_O = sum_over(off_X.square(), owner_X, owners) / (count_O - ddof).clamp_min(1)
    return variance_O.masked_fill(count_O <= ddof, 0.0)


def centre(value_X: Tensor, owner_X: Tensor, owners: int) -> Tensor:
    """The difference of each value from its owner's mean, [X]; exactly 0 if all of an owner's values are equal.

    A rounded mean may differ slightly from equal values, and a small deviation would amplify the difference.
    """
    off_X = value_X - mean_over(value_X, owner_X, owners)[owner_X]
    equal_O = least_over(value_X, owner_X, owners) == greatest_over(value_X, owner_X, owners)
    return off_X.masked_fill(equal_O[owner_X], 0.0)


def number_keys(key_X: Tensor) -> tuple[Tensor, int]:
    """Numbers of keys from 0, in ascending order, [X], and how many keys there are; in [X, K], rows are the keys."""
    found, owner_X = key_X.unique(dim=0, return_inverse=True)
    return owner_X.reshape(len(key_X)), len(found)
