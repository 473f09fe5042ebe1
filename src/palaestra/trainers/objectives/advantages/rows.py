"""A row for each owner's things, so that one recursion runs for all owners at once.

Axes: X things, O owners, L places in a row.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The place of each thing in its owner's row; all rows have the length of the longest."""

    owner_X: Tensor
    place_X: Tensor
    owners: int

    @classmethod
    def of(cls, owner_X: Tensor, owners: int) -> "Rows":
        """Rows of things in their present order.

        Args:
            owner_X: The owner of each thing, ascending.
            owners: The number of owners.
        """
        count_O = torch.bincount(owner_X, minlength=owners)
        first_O = count_O.cumsum(0) - count_O
        place_X = torch.arange(len(owner_X), device=owner_X.device) - first_O[owner_X]
        return cls(owner_X=owner_X, place_X=place_X, owners=owners)

    def spread(self, value_X: Tensor) -> Tensor:
        """Arrange values in rows, [O, L]; 0 after each row's last."""
        length = int(self.place_X.max()) + 1 if len(self.place_X) else 0
        return value_X.new_zeros(self.owners, length).index_put((self.owner_X, self.place_X), value_X)

    def gather(self, value_OL: Tensor) -> Tensor:
        """Take values out of their rows, [X]."""
        return value_OL[self.owner_X, self.place_X]
