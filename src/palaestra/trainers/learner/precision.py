"""Products in half precision, in E4M3 or with weights in NVFP4, over weights that are held in single precision.

Half precision loses small updates: 1 + 0.003 is 1 in bfloat16. The forward pass therefore uses a copy of the weights,
renewed before each step, and the gradients go back to the original weights.
"""

from copy import deepcopy

import torch

from palaestra.errors import ConfigError
from palaestra.trainers.flow import PrecisionFlow
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.products import check_sizes


def check_quantised(model: Decoder, flow: PrecisionFlow, *, several: bool) -> None:
    """Refuse quantised products if weights are split over processes, or the device cannot multiply them.

    Args:
        model: The model with the weights.
        flow: The learner's flow; flows without quantised products pass.
        several: Whether weights are split over processes.

    Raises:
        ConfigError: the products are not possible; the message names the rule and what to do.
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
    """A copy of a decoder in the formats of a flow, which computes in its place.

    With quantised products, it shares the weights of blocks with `master`: the products read quantised values and give
    their gradients to the weights themselves. Frozen weights are shared as they are.

    Args:
        master: The decoder whose weights are trained.
        flow: The flow of the copy.
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
        """Copy the current weights."""
        for master, own in self._pairs:
            own.copy_(master)

    def give_gradients(self) -> None:
        """Add the copy's gradients to those of the weights, then clear them."""
        for master, own in self._pairs:
            if own.grad is None:
                continue
            gradient = own.grad.to(master.dtype)
            master.grad = gradient if master.grad is None else master.grad.add_(gradient)
            own.grad = None
