"""Ranks within each owner. Axes: X things."""

import torch
from torch import Tensor


def ranks(key_X: Tensor, owner_X: Tensor) -> Tensor:
    """The rank of each thing among those of its owner, from 0 for the least key; equal keys keep their order. [X].

    Args:
        key_X: The keys.
        owner_X: The owner of each thing, integers.
    """
    order_X = key_X.argsort(stable=True)
    order_X = order_X[owner_X[order_X].argsort(stable=True)]
    count_O = torch.bincount(owner_X)
    first_O = count_O.cumsum(0) - count_O
    within_X = torch.arange(len(owner_X), device=owner_X.device) - first_O[owner_X[order_X]]
    return torch.empty_like(owner_X).index_copy(0, order_X, within_X)
