"""Linear modules that no flow quantises: the output layer and routers."""

import torch
from torch import Tensor, nn

from palaestra.trainers.model.arithmetic import ForwardFunctions


class UnquantisedLinear(nn.Linear):
    """A linear module without bias; `functions` may read its weight in their own form."""

    functions: ForwardFunctions | None = None
    packed: Tensor | None = None
    """The weight in the form that the functions read, as of the last `refresh`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    @torch.no_grad()
    def refresh(self) -> None:
        """Pack the current weight anew."""
        self.packed = None if self.functions is None else self.functions.pack_head(self.weight)
