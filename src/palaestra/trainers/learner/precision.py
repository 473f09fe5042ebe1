"""Products in half precision, in E4M3 or of weights in NVFP4, over weights that are held in single precision.

Half of single precision has no room for small updates: 1 + 0.003 is 1 again in bfloat16. So what works is a copy, made
anew before each step, and what it learns goes back to the weights that it is a copy of.
"""

from copy import deepcopy

import torch

from palaestra.errors import ConfigError
from palaestra.trainers.flow import PrecisionFlow
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.products import check_sizes


def check_quantised(model: Decoder, flow: PrecisionFlow, *, several: bool) -> None:
    """Refuse quantised products of weights that are no whole matrices here, or that the device does not multiply.

    Args:
        model: Whose weights they would be.
        flow: The learner's; another one passes.
        several: Whether weights are spread over processes.

    Raises:
        ConfigError: it names the rule and the way out.
    """
    if several and (flow.operands is not None or flow.frozen):
        raise ConfigError(
            f"precision of the flow {flow.name!r}: a scale is of a whole row or block, and weights are spread over "
            'processes; train in one process, or write precision = "bf16"'
        )
    if flow.operands is None:
        return
    check_sizes(flow.operands, model.shape, model.lm_head.weight.device)


class PrecisionCopy:
    """A copy of a decoder in the formats of a flow, that is put to work in its place.

    Where products are quantised it shares the weights of blocks with `master`: products read what they were quantised
    to, and give their gradients to the weights themselves. It shares frozen ones as they are.

    Args:
        master: Whose weights are trained.
        flow: The copy's.
    """

    def __init__(self, master: Decoder, flow: PrecisionFlow) -> None:
        self.model = deepcopy(master).to(flow.weights)
        if flow.operands is not None or flow.frozen:
            for own, other in zip(self.model.projections(), master.projections(), strict=True):
                own.weight = other.weight
        pairs = zip(master.parameters(), self.model.parameters(), strict=True)
        self._pairs = [(one, own) for one, own in pairs if one is not own]

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
