"""Rounding that gradients pass unchanged (Bengio et al. 2013, arXiv:1308.3432)."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def replace_value(x: Tensor, value: Tensor) -> Tensor:
    """`value`, with the gradient of `x`."""
    replaced: Tensor = _StraightThrough.apply(x, value)  # type: ignore[no-untyped-call]
    return replaced


class _StraightThrough(torch.autograd.Function):
    # Any: torch does not declare its context.

    @staticmethod
    def forward(ctx: Any, x: Tensor, value: Tensor) -> Tensor:
        ctx.dtype = x.dtype
        return value.view_as(value)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor, None]:
        """The value's gradient."""
        return grad_outputs[0].to(ctx.dtype), None
