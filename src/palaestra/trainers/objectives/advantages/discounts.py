"""Discounted sums of future values. Axes: O owners, L places in a row."""

import torch
from torch import Tensor


def discount(value_OL: Tensor, factor: float | Tensor) -> Tensor:
    """Discounted sums, from the last place to the first: x(l) = value(l) + factor(l) x(l + 1), [O, L].

    Args:
        value_OL: The values; 0 after each row's last.
        factor: One factor, or one for each place: anything that broadcasts to [O, L].
    """
    factor_OL = torch.as_tensor(factor, dtype=value_OL.dtype, device=value_OL.device).expand_as(value_OL)
    after_O = value_OL.new_zeros(len(value_OL))
    found: list[Tensor] = []
    for place in reversed(range(value_OL.shape[1])):
        after_O = value_OL[:, place] + factor_OL[:, place] * after_O
        found.append(after_O)
    return torch.stack(found[::-1], 1) if found else value_OL


def following(value_OL: Tensor) -> Tensor:
    """The value of the next place, at each place, [O, L]; 0 at the last."""
    return torch.cat([value_OL[:, 1:], value_OL.new_zeros(len(value_OL), min(1, value_OL.shape[1]))], 1)


def refuse_beyond_one(**settings: float) -> None:
    """Refuse invalid discounts.

    Raises:
        ValueError: a setting is not between 0 and 1; the message names it.
    """
    for name, value in settings.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value}: a discount lies between 0 and 1; give such a number")
