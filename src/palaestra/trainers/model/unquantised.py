"""Linear modules that no flow quantises: the output layer and routers."""

import torch
from torch import Tensor, nn

from palaestra.trainers.model.arithmetic import ForwardFunctions


class UnquantisedLinear(nn.Linear):
    """A linear module without bias, whose weight functions of one's own may read in a form of theirs."""

    functions: ForwardFunctions | None = None
    packed: Tensor | None = None
    """The weight as the functions read it; as it was at the last `refresh`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    @torch.no_grad()
    def refresh(self) -> None:
        """Take notice of a new weight."""
        self.packed = None if self.functions is None else self.functions.pack_head(self.weight)
