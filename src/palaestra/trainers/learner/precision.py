"""Products in half precision, over weights that are held in single.

Half of single precision has no room for small updates: 1 + 0.003 is 1 again in bfloat16. So what works is a copy, made
anew before each step, and what it learns goes back to the weights that it is a copy of.
"""

from copy import deepcopy

import torch

from palaestra.trainers.model.decoder import Decoder


class PrecisionCopy:
    """A copy of a decoder in another type, that is put to work in its place.

    Args:
        master: Whose weights are trained.
        dtype: The copy's.
    """

    def __init__(self, master: Decoder, dtype: torch.dtype) -> None:
        self.model = deepcopy(master).to(dtype)
        self._pairs = list(zip(master.parameters(), self.model.parameters(), strict=True))

    @torch.no_grad()
    def refresh(self) -> None:
        """Take the weights over as they are now."""
        for master, own in self._pairs:
            own.copy_(master)

    def give_gradients(self) -> None:
        """Add the copy's gradients to those of the weights, and forget them."""
        for master, own in self._pairs:
            if own.grad is None:
                continue
            gradient = own.grad.to(master.dtype)
            master.grad = gradient if master.grad is None else master.grad.add_(gradient)
            own.grad = None
