"""Flows: the formats of a forward pass and the order of its sums. Engine and learner share the definition.

If both use the same flow and its sums have a fixed order, a token has the same log-probability when it is sampled and
when it is trained on. A new flow needs a new record here, and kernels.
"""

from typing import Literal, TypeAlias

import torch

from palaestra.record import record
from palaestra.trainers.device import FOUR_BITS, ResolvedPrecision
from palaestra.trainers.quantisation import E4M3, BlockShape
from palaestra.trainers.quantised_vectors import SCALE_BYTES

KeyValueFormat: TypeAlias = Literal["states", "fp8"]
"""The format of keys and values: that of the states, or E4M3 with a scale for each head of a token."""
_BLOCK = 128


@record
class OperandFormat:
    """The blocks that share a scale in the two operands of a quantised product; both are in E4M3."""

    weight: BlockShape
    """The blocks of a weight, [N, C], whose rows are the columns of the product."""
    activation: BlockShape
    """The blocks of activations, [T, C]; each token has its own scales."""

    @property
    def by_row(self) -> bool:
        """Whether each row of an operand has one scale."""
        return self.weight.columns is None


ROW_FORMAT = OperandFormat(weight=BlockShape(rows=1), activation=BlockShape(rows=1))
"""The format of "fp8"."""
BLOCK_FORMAT = OperandFormat(
    weight=BlockShape(rows=_BLOCK, columns=_BLOCK), activation=BlockShape(rows=1, columns=_BLOCK)
)
"""The format of "fp8-block", as in DeepSeek-V3 (arXiv:2412.19437) and Jet-RL (arXiv:2601.14243)."""


@record
class PrecisionFlow:
    """The formats and sum order of a forward pass."""

    name: str
    """The flow's name, such as "fp32 invariant"."""
    weights: torch.dtype
    """The type of all weights except those of quantised products; a learner holds its weights in single precision."""
    states: torch.dtype
    """The type of the states between products."""
    keys_and_values: torch.dtype
    """The stored type; for E4M3 they are rounded after rotary positions, and attention reads the rounded values."""
    operands: OperandFormat | None
    """The format of the blocks' products, if these are quantised. Embedding, norms, attention and output layer never
    are."""
    frozen: bool
    """Whether the weights of the blocks' products never change and are in NVFP4, with adapters in the states' type
    beside them; activations are not quantised."""
    fixed_order: bool
    """Whether every sum has a fixed order, whatever else is in the batch; sums are in single precision in any case."""

    @property
    def rounds_keys_and_values(self) -> bool:
        """Whether keys and values are in E4M3."""
        return self.keys_and_values == E4M3

    def vector_bytes(self, head_dim: int) -> int:
        """Bytes of a key or a value of one head, its scale included."""
        return head_dim * self.keys_and_values.itemsize + (SCALE_BYTES if self.rounds_keys_and_values else 0)


def flow_of(
    precision: ResolvedPrecision, *, invariant: bool, keys_and_values: KeyValueFormat = "states"
) -> PrecisionFlow:
    """The flow for these settings.

    Args:
        precision: The result of `resolve_precision`.
        invariant: Whether sums have a fixed order.
        keys_and_values: The format of keys and values.
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
