"""A decoder spread over processes: each holds a share of every weight, its gradient and its moments (FSDP2).

A block's weights are gathered while it works and given back afterwards (Zhao et al. 2023, arXiv:2304.11277), so that
no process ever holds more than its share and one block.
"""

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from palaestra.trainers.model.decoder import Decoder


def shard(model: Decoder, mesh: DeviceMesh, *, half: bool) -> None:
    """Spread `model` over the processes of `mesh`, in place. Gradients are summed over them, not averaged.

    Args:
        model: The same in every process.
        mesh: Of one dimension.
        half: Whether to gather, and to work, in bfloat16; gradients are summed in single precision all the same.
    """
    policy = (
        MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if half else MixedPrecisionPolicy()
    )
    for block in model.model.layers:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(enable=True)  # gloo knows no other


def give_back(model: Decoder) -> None:
    """Let go of what was gathered for a pass that nothing goes back through; with one process, nothing was."""
    if isinstance(model, FSDPModule):
        model.reshard()


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor of which this process may hold a share; all processes ask for it together."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def like(value: Tensor, weight: Tensor) -> Tensor:
    """A copy of `value` that lies where `weight` lies, in the same shares."""
    value = value.detach().to(device=weight.device, dtype=weight.dtype, copy=True)
    return distribute_tensor(value, weight.device_mesh, weight.placements) if isinstance(weight, DTensor) else value
