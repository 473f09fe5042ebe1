"""Places in an order, within each owner. Axes: X things."""

import torch
from torch import Tensor


def ranks(key_X: Tensor, owner_X: Tensor) -> Tensor:
    """The place of each thing among its owner's, from 0, the least key first; equal keys stay in order. [X].

    Args:
        key_X: What is compared.
        owner_X: Whose each is, integers.
    """
    order_X = key_X.argsort(stable=True)
    order_X = order_X[owner_X[order_X].argsort(stable=True)]
    count_O = torch.bincount(owner_X)
    first_O = count_O.cumsum(0) - count_O
    within_X = torch.arange(len(owner_X), device=owner_X.device) - first_O[owner_X[order_X]]
    return torch.empty_like(owner_X).index_copy(0, order_X, within_X)
