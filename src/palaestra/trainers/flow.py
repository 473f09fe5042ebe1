"""Flows: in which formats a forward pass is computed, and how it sums. Engine and learner use the same definition.

A token has the same log-probability when it is drawn and when it is trained on where both use one flow and its sums
have a fixed order. A new flow is a new record here, and kernels for it.
"""

from typing import Literal, TypeAlias

import torch

from palaestra.record import record
from palaestra.trainers.device import FOUR_BITS, ResolvedPrecision
from palaestra.trainers.quantisation import E4M3, BlockShape
from palaestra.trainers.quantised_vectors import SCALE_BYTES

KeyValueFormat: TypeAlias = Literal["states", "fp8"]
"""Of keys and values: that of the states, or E4M3 with a scale for each head of a token."""
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
    """As they are held; in E4M3 they are rounded behind rotary positions, and attention reads what they were rounded
    to."""
    operands: OperandFormat | None
    """Of the products of blocks, where they are quantised. Embedding, norms, attention and output layer never are."""
    frozen: bool
    """Whether the weights of those products never change and are in NVFP4; adapters in the states' type stand beside
    them, and activations are not quantised."""
    fixed_order: bool
    """Whether every sum has one order, whatever a token is computed with; sums are in single precision either way."""

    @property
    def rounds_keys_and_values(self) -> bool:
        """Whether they are in E4M3."""
        return self.keys_and_values == E4M3

    def vector_bytes(self, head_dim: int) -> int:
        """Bytes of a key or a value of one head, its scale included."""
        return head_dim * self.keys_and_values.itemsize + (SCALE_BYTES if self.rounds_keys_and_values else 0)


def flow_of(
    precision: ResolvedPrecision, *, invariant: bool, keys_and_values: KeyValueFormat = "states"
) -> PrecisionFlow:
    """The flow of settings.

    Args:
        precision: As `resolve_precision` gives it.
        invariant: Whether sums have a fixed order.
        keys_and_values: Their format.
    """
    dtype = torch.float32 if precision == "fp32" else torch.bfloat16
    rounds = keys_and_values == "fp8"
    operands = {"fp8": ROW_FORMAT, "fp8-block": BLOCK_FORMAT}.get(precision)
    return PrecisionFlow(
        name=f"{precision} {'invariant' if invariant else 'free'}{', fp8 keys and values' if rounds else ''}",
        weights=dtype,
        states=dtype,
        keys_and_values=E4M3 if rounds else dtype,
        operands=operands,
        frozen=precision == FOUR_BITS,
        fixed_order=invariant,
    )
