"""Models spread over processes: each process holds a share of every weight, of its gradient and of its moments (FSDP2).

The weights of a block are gathered while it computes and dropped afterwards (Zhao et al. 2023, arXiv:2304.11277), so a
process never holds more than its share and one block.
"""

from collections.abc import Collection, Iterable

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor


def shard(
    model: nn.Module,
    blocks: Iterable[nn.Module],
    mesh: DeviceMesh,
    *,
    half: bool = False,
    ignored: Collection[nn.Parameter] = (),
) -> None:
    """Spread `model` over the processes of `mesh`, in place. Gradients are summed over processes, not averaged.

    Args:
        model: The same model in every process.
        blocks: Its parts whose weights are gathered one after the other.
        mesh: A mesh of one dimension.
        half: Whether to gather and compute in bfloat16. Gradients are summed in single precision either way.
        ignored: Weights that every process keeps whole.
    """
    policy = (
        MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if half else MixedPrecisionPolicy()
    )
    for block in blocks:
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy, ignored_params=set(ignored))
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_gradient_divide_factor(1.0)
            module.set_force_sum_reduction_for_comms(enable=True)  # gloo has no other reduction


def drop_gathered(model: nn.Module) -> None:
    """Drop the weights that a forward pass without a backward pass gathered; with one process there are none."""
    if isinstance(model, FSDPModule):
        model.reshard()


def whole(tensor: Tensor) -> Tensor:
    """The whole of a tensor of which this process may hold a share; all processes call this together."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def like(value: Tensor, weight: Tensor) -> Tensor:
    """A copy of `value` on the device of `weight`, spread as `weight` is."""
    value = value.detach().to(device=weight.device, dtype=weight.dtype, copy=True)
    return distribute_tensor(value, weight.device_mesh, weight.placements) if isinstance(weight, DTensor) else value
