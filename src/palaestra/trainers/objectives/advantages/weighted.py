"""Means as baselines: weighted, or exact if all values are equal. Axes: X things, O owners."""

from torch import Tensor

from palaestra.trainers.objectives.segments import centre, greatest_over, least_over, mean_over, sum_over


def off_weighted_mean(value_X: Tensor, weight_X: Tensor, owner_X: Tensor, owners: int) -> Tensor:
    """Each value minus its owner's weighted mean, [X].

    Exactly 0 if all values of an owner are equal. An owner whose weights are all 0 has baseline 0: its values stay.

    Args:
        value_X: The value of each thing.
        weight_X: The weight of each, 0 or more.
        owner_X: The owner of each.
        owners: The number of owners.
    """
    off_X = centre(value_X, owner_X, owners)
    weight_O = sum_over(weight_X, owner_X, owners)
    none_O = weight_O <= 0
    mean_O = sum_over(weight_X * off_X, owner_X, owners) / weight_O.masked_fill(none_O, 1.0)
    return (off_X - mean_O[owner_X]).where(~none_O[owner_X], value_X)


def exact_mean_over(value_X: Tensor, owner_X: Tensor, owners: int) -> Tensor:
    """The mean of each owner's values, [O]: exact if all are equal; 0 for an owner without values."""
    least_O, greatest_O = least_over(value_X, owner_X, owners), greatest_over(value_X, owner_X, owners)
    return least_O.where(least_O == greatest_O, mean_over(value_X, owner_X, owners))
