"""RMSNorm with few passes over memory, forward and backward.

On a CPU, torch composes the norm of a dozen operations with one pass over memory each. In a small model they take
longer than the products between them. On other devices torch's own norm is faster.

Axes: T tokens, C channels; other axes may lie between them.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


def quicken_norms(model: nn.Module) -> None:
    """Make every RMSNorm of a model on a CPU use `rms_norm`."""
    for module in model.modules():
        if isinstance(module, nn.RMSNorm):
            setattr(module, "forward", partial(_forward, module))  # noqa: B010  checkers take methods for constant


def _forward(module: nn.RMSNorm, x_TC: Tensor) -> Tensor:
    return rms_norm(x_TC, module.weight, module.eps or 0.0)


def rms_norm(x_TC: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
    """X / sqrt(mean(x^2) + epsilon) * weight (Zhang and Sennrich 2019, arXiv:1910.07467), in x's type.

    Args:
        x_TC: Of any type; sums are in single precision or higher.
        weight_C: One weight per channel.
        epsilon: Keeps the result of zeros finite.
    """
    normed: Tensor = RmsNorm.apply(x_TC, weight_C, epsilon)  # type: ignore[no-untyped-call]
    return normed


class RmsNorm(torch.autograd.Function):
    """The norm and its gradients."""

    # Any: torch does not declare its context.

    @staticmethod
    def remember(ctx: Any, x_TC: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
        """Save what `backward` reads.

        Returns:
            The inverse root of each token's mean square, [T, 1].
        """
        square_T1: Tensor = torch.linalg.vector_norm(_wide(x_TC), dim=-1, keepdim=True).square_()
        inverse_T1 = square_T1.div_(x_TC.shape[-1]).add_(epsilon).rsqrt_()
        ctx.save_for_backward(x_TC, weight_C, inverse_T1)
        return inverse_T1

    @staticmethod
    def forward(ctx: Any, x_TC: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
        """The ordinary norm."""
        out_TC = (_wide(x_TC) * RmsNorm.remember(ctx, x_TC, weight_C, epsilon)).mul_(weight_C)
        return out_TC.to(x_TC.dtype)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor, Tensor | None, None]:
        """With r the inverse root: d weight = sum(d out x r), d x = d out w r - x r^3 mean(d out w x)."""
        x_TC, weight_C, inverse_T1 = ctx.saved_tensors
        wide_TC, d_wide_TC, w_C = _wide(x_TC), _wide(grad_outputs[0]), _wide(weight_C)
        channels = x_TC.shape[-1]
        product_TC = wide_TC * d_wide_TC
        flat_NC = product_TC.reshape(-1, channels)
        d_weight_C = (flat_NC.T @ inverse_T1.view(-1)).to(weight_C.dtype) if ctx.needs_input_grad[1] else None
        back_T1 = (flat_NC @ w_C).view_as(inverse_T1) * inverse_T1.pow(3).div_(-channels)
        d_x_TC = torch.mul(d_wide_TC, w_C, out=product_TC).mul_(inverse_T1).addcmul_(wide_TC, back_T1)
        return d_x_TC.to(x_TC.dtype), d_weight_C, None


def _wide(x: Tensor) -> Tensor:
    return x.to(torch.promote_types(x.dtype, torch.float32))
