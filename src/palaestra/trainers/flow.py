"""Flows: in which formats a forward pass is computed, and how it sums. Engine and learner use the same definition.

A token has the same log-probability when it is drawn and when it is trained on where both use one flow and its sums
have a fixed order. A new flow is a new record here, and kernels for it.
"""

import torch

from palaestra.record import record
from palaestra.trainers.device import ResolvedPrecision
from palaestra.trainers.quantisation import BlockShape

_BLOCK = 128


@record
class OperandFormat:
    """What shares a scale in the two operands of a quantised product; both are in E4M3."""

    weight: BlockShape
    """Of a weight, [N, C], whose rows are the columns of the product."""
    activation: BlockShape
    """Of activations, [T, C]; each token has scales of its own."""

    @property
    def by_row(self) -> bool:
        """Whether each row of an operand has one scale."""
        return self.weight.columns is None


ROW_FORMAT = OperandFormat(weight=BlockShape(rows=1), activation=BlockShape(rows=1))
"""That of "fp8"."""
BLOCK_FORMAT = OperandFormat(
    weight=BlockShape(rows=_BLOCK, columns=_BLOCK), activation=BlockShape(rows=1, columns=_BLOCK)
)
"""That of "fp8-block", as in DeepSeek-V3 (arXiv:2412.19437) and Jet-RL (arXiv:2601.14243)."""


@record
class PrecisionFlow:
    """How a forward pass is computed."""

    name: str
    """Such as "fp32 invariant"."""
    weights: torch.dtype
    """Of all weights, but those of products with quantised operands; a learner holds its own in single precision."""
    states: torch.dtype
    """Of what stands between products."""
    keys_and_values: torch.dtype
    operands: OperandFormat | None
    """Of the products of blocks, where they are quantised. Embedding, norms, attention and output layer never are."""
    fixed_order: bool
    """Whether every sum has one order, whatever a token is computed with; sums are in single precision either way."""


def flow_of(precision: ResolvedPrecision, *, invariant: bool) -> PrecisionFlow:
    """The flow of settings.

    Args:
        precision: As `resolve_precision` gives it.
        invariant: Whether sums have a fixed order.
    """
    dtype = torch.float32 if precision == "fp32" else torch.bfloat16
    operands = {"fp8": ROW_FORMAT, "fp8-block": BLOCK_FORMAT}.get(precision)
    return PrecisionFlow(
        name=f"{precision} {'invariant' if invariant else 'free'}",
        weights=dtype,
        states=dtype,
        keys_and_values=dtype,
        operands=operands,
        fixed_order=invariant,
    )
