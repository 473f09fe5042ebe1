"""Matrix products in FP8 compared with bfloat16: error and speed, at the sizes of a decode step and of training.

Axes: T tokens, N rows of a weight, C its columns.
"""

from collections.abc import Iterator
from functools import partial

import torch
from torch.nn import functional

from palaestra.benchmarks.gpu.figures import ContactFigure
from palaestra.benchmarks.gpu.scale import ContactScale
from palaestra.benchmarks.speed.training.limits import time_median
from palaestra.trainers.flow import ROW_FORMAT
from palaestra.trainers.products import QuantisedProducts

_FAR = 5e-2
"""Maximum relative error of a product whose operands have three mantissa bits and one scale per row."""


def check_formats(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Check the products of the flow "fp8", with weights quantised once and activations quantised in each call."""
    products = QuantisedProducts(ROW_FORMAT)
    shape = scale.shape
    n, c = 2 * shape.mlp, shape.hidden
    generator = torch.Generator().manual_seed(0)
    weight_NC = torch.randn(n, c, generator=generator).mul_(0.02).to(device)
    half_NC = weight_NC.bfloat16()
    packed = products.pack(weight_NC)
    for tokens in scale.products:
        x_TC = torch.randn(tokens, c, generator=generator).to(device)
        half_TC = x_TC.bfloat16()
        exact_TN = x_TC.double() @ weight_NC.double().T if tokens <= 1024 else None
        halves = time_median(partial(functional.linear, half_TC, half_NC), device)
        eights = time_median(partial(products.product, half_TC, half_NC, packed), device)
        if exact_TN is not None:
            found_TN = products.product(half_TC, half_NC, packed)
            error = float((found_TN.double() - exact_TN).norm() / exact_TN.norm())
            yield ContactFigure(name=f"{tokens} rows: relative error of fp8", value=error, unit="", at_most=_FAR)
        work = 2 * tokens * n * c
        yield ContactFigure(name=f"{tokens} rows: bf16", value=work / halves / 1e12, unit="TFLOP/s")
        yield ContactFigure(name=f"{tokens} rows: fp8, quantising activations included", value=work / eights / 1e12,
                            unit="TFLOP/s")  # fmt: skip
