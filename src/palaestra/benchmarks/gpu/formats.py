"""Matrix products in FP8 against bfloat16: error and speed, at the sizes of a decode step and of training.

Axes: T tokens, N rows of a weight, C its columns.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.benchmarks.gpu.figures import ContactFigure
from palaestra.benchmarks.gpu.scale import ContactScale
from palaestra.benchmarks.speed.training.limits import time_median

_E4M3 = torch.float8_e4m3fn
_LARGEST = 448.0
"""Of E4M3 (Micikevicius et al. 2022, arXiv:2209.05433)."""
_FAR = 5e-2
"""Relative error of a product of operands with three bits of mantissa, and rows of one scale."""


def check_formats(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Row-wise scaled E4M3 through `torch._scaled_mm`, with weights quantised once and activations in each call."""
    shape = scale.shape
    n, c = 2 * shape.mlp, shape.hidden
    generator = torch.Generator().manual_seed(0)
    weight_NC = torch.randn(n, c, generator=generator).mul_(0.02).to(device)
    half_NC = weight_NC.bfloat16()
    quantised_NC, scale_N1 = _quantise(half_NC)
    for tokens in scale.products:
        x_TC = torch.randn(tokens, c, generator=generator).to(device)
        half_TC = x_TC.bfloat16()
        exact_TN = x_TC.double() @ weight_NC.double().T if tokens <= 1024 else None
        halves = time_median(partial(functional.linear, half_TC, half_NC), device)
        eights = time_median(partial(_multiply, half_TC, quantised_NC, scale_N1), device)
        if exact_TN is not None:
            error = float((_multiply(half_TC, quantised_NC, scale_N1).double() - exact_TN).norm() / exact_TN.norm())
            yield ContactFigure(name=f"{tokens} rows: relative error of fp8", value=error, unit="", at_most=_FAR)
        work = 2 * tokens * n * c
        yield ContactFigure(name=f"{tokens} rows: bf16", value=work / halves / 1e12, unit="TFLOP/s")
        yield ContactFigure(name=f"{tokens} rows: fp8, quantising activations included", value=work / eights / 1e12,
                            unit="TFLOP/s")  # fmt: skip


def _quantise(x: Tensor) -> tuple[Tensor, Tensor]:
    """E4M3 with a scale for each row, [R, C] and [R, 1]."""
    scale = x.abs().amax(-1, keepdim=True).float().clamp(min=1e-12) / _LARGEST
    return (x.float() / scale).to(_E4M3), scale


def _multiply(x_TC: Tensor, weight_NC: Tensor, scale_N1: Tensor) -> Tensor:
    """The product with a quantised weight, [T, N]."""
    multiply: Any = getattr(torch, "_scaled_mm")  # noqa: B009  the operator has no public name
    quantised_TC, scale_T1 = _quantise(x_TC)
    found: Tensor = multiply(quantised_TC, weight_NC.T, scale_a=scale_T1, scale_b=scale_N1.T, out_dtype=torch.bfloat16)
    return found
