"""Products of quantised operands, shared by engine and learner; see `OperandFormat` and `nvfp4`.

Axes: T tokens, C channels (the summed axis), N columns of a product.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.nn.functional import ScalingType

from palaestra.errors import ConfigError
from palaestra.trainers.flow import OperandFormat
from palaestra.trainers.model.projection import PackedWeight
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.nvfp4 import Nvfp4Matrix, dequantise_nvfp4, nvfp4_bytes, quantise_to_nvfp4
from palaestra.trainers.quantisation import QuantisedMatrix, dequantise, quantise, round_to_e4m3

_MULTIPLE = 16
"""In CUDA's product of E4M3, each side of a weight must be a multiple of this number."""


class QuantisedProducts:
    """Products whose weights are quantised once and whose activations are quantised in each call.

    Training has three products. In the forward product (FProp) both operands are in E4M3. In the two products of the
    backward pass one operand is: DGrad multiplies the gradient by the quantised weight, WGrad by the quantised
    activations. The rounding has a straight-through gradient (Bengio et al. 2013, arXiv:1308.3432); gradients are not
    quantised, unlike in Jet-RL.

    Args:
        operands: The blocks that share a scale.
    """

    def __init__(self, operands: OperandFormat) -> None:
        self._operands = operands

    def pack(self, weight_NC: Tensor) -> PackedWeight:
        """See `ProjectionProducts`."""
        return quantise(weight_NC, self._operands.weight)

    def product(self, x_TC: Tensor, weight_NC: Tensor, packed: PackedWeight) -> Tensor:
        """See `ProjectionProducts`."""
        product_TN: Tensor = _Product.apply(x_TC, weight_NC, *packed, self._operands)  # type: ignore[no-untyped-call]
        return product_TN


class Nvfp4Products:
    """Products with frozen weights in NVFP4; torch multiplies by the dequantised values.

    The backward pass computes the gradient of the states; the weights get none. It holds nothing else: it dequantises
    the weights a second time.
    """

    def pack(self, weight_NC: Tensor) -> Nvfp4Matrix:
        """See `ProjectionProducts`."""
        return quantise_to_nvfp4(weight_NC)

    def product(self, x_TC: Tensor, weight_NC: Tensor, packed: PackedWeight) -> Tensor:
        """See `ProjectionProducts`; `weight_NC` is empty."""
        del weight_NC
        product_TN: Tensor = _FrozenProduct.apply(x_TC, *packed)  # type: ignore[no-untyped-call]
        return product_TN

    def unpack(self, packed: PackedWeight, columns: int) -> Tensor:
        """See `FrozenProducts`."""
        return dequantise_nvfp4(Nvfp4Matrix(*packed), columns, torch.float32)

    def move(self, packed: PackedWeight, device: torch.device) -> Nvfp4Matrix:
        """See `FrozenProducts`."""
        return Nvfp4Matrix(*(part.to(device) for part in packed))


def check_sizes(operands: OperandFormat, shape: DecoderShape, device: torch.device) -> None:
    """Refuse a decoder whose weights the device cannot multiply in this format.

    Raises:
        ConfigError: a size is not a multiple of 16; the error names the size, the rule and the way out.
    """
    if device.type != "cuda" or not operands.by_row:
        return
    width, narrow = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    sizes = {"hidden": shape.hidden, "mlp": shape.mlp, "heads * head_dim": width, "kv_heads * head_dim": narrow}
    for name, size in sizes.items():
        if size % _MULTIPLE:
            raise ConfigError(
                f"precision='fp8', {name}={size}: CUDA's product of E4M3 takes sizes that are multiples of {_MULTIPLE} "
                'alone; take a model of such sizes, or write precision = "bf16"'
            )


def packed_bytes(operands: OperandFormat, shape: DecoderShape) -> int:
    """Bytes of a decoder's projections in this format, scales included."""
    block = operands.weight
    scales = sum(
        -(-rows // block.rows) * -(-columns // (block.columns or columns)) for rows, columns in shape.projections
    )
    return shape.projection_parameters + shape.layers * 4 * scales


def frozen_bytes(shape: DecoderShape) -> int:
    """Bytes of a decoder's projections in NVFP4, scales included."""
    return shape.layers * sum(nvfp4_bytes(rows, columns) for rows, columns in shape.projections)


class _FrozenProduct(torch.autograd.Function):
    # Any: torch does not declare its context.

    @staticmethod
    def forward(ctx: Any, x_TC: Tensor, codes_NB: Tensor, scale_NK: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(codes_NB, scale_NK, scale)
        ctx.columns = x_TC.shape[-1]
        return x_TC @ dequantise_nvfp4(Nvfp4Matrix(codes_NB, scale_NK, scale), ctx.columns, x_TC.dtype).T

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor, None, None, None]:
        """The gradient of the states only."""
        (d_TN,) = grad_outputs
        return d_TN @ dequantise_nvfp4(Nvfp4Matrix(*ctx.saved_tensors), ctx.columns, d_TN.dtype), None, None, None


class _Product(torch.autograd.Function):
    # Any: torch does not declare its context.

    @staticmethod
    def forward(
        ctx: Any, x_TC: Tensor, weight_NC: Tensor, values_NC: Tensor, scale: Tensor, operands: OperandFormat
    ) -> Tensor:
        ctx.save_for_backward(x_TC, values_NC, scale)
        ctx.operands, ctx.dtype = operands, weight_NC.dtype
        activations = quantise(x_TC, operands.activation)
        return _multiply(activations, QuantisedMatrix(values_NC, scale), operands, x_TC.dtype)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  the decorator takes its first by place alone
        ctx: Any, *grad_outputs: Any
    ) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        """The gradients of the product of the rounded operands."""
        x_TC, values_NC, scale = ctx.saved_tensors
        (d_TN,) = grad_outputs
        d_x_TC = d_weight_NC = None
        if ctx.needs_input_grad[0]:
            d_x_TC = d_TN @ dequantise(QuantisedMatrix(values_NC, scale), ctx.operands.weight, d_TN.dtype)
        if ctx.needs_input_grad[1]:
            d_weight_NC = (d_TN.T @ round_to_e4m3(x_TC, ctx.operands.activation)).to(ctx.dtype)
        return d_x_TC, d_weight_NC, None, None, None


def _multiply(x: QuantisedMatrix, weight: QuantisedMatrix, operands: OperandFormat, dtype: torch.dtype) -> Tensor:
    """The product, [T, N]; sums are in single precision."""
    if operands.by_row:
        return functional.scaled_mm(
            x.values_RC,
            weight.values_RC.T,
            x.scale_rc,
            ScalingType.RowWise,
            weight.scale_rc.T,
            ScalingType.RowWise,
            output_dtype=dtype,
        )
    # Torch has no CPU operator for these blocks. Values times scales are exact in bfloat16.
    return dequantise(x, operands.activation, dtype) @ dequantise(weight, operands.weight, dtype).T
