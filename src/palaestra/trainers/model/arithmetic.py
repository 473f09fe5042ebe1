"""Replacements for torch's arithmetic in a forward pass.

Axes: T tokens, C hidden, H heads, D head dimension, N columns, E experts, V vocabulary.
"""

from typing import Protocol, TypeAlias

from torch import Tensor

from palaestra.trainers.model.projection import ProjectionProducts

Rotation: TypeAlias = tuple[Tensor, Tensor]
"""The cosines and sines of each token's angles, [T, 1, D] each; the sines of the first half are negated."""


class Operations(Protocol):
    """The operations of a joined decoder between its products, fused to be faster than torch's single steps."""

    def norm(self, x_TC: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
        """Each token's states divided by the root of their mean square, times the weight, [T, C]."""
        ...

    def turn(
        self, x_THD: Tensor, cos_TD: Tensor, sin_TD: Tensor, *, heads: int, norm_HD: Tensor | None, epsilon: float
    ) -> None:
        """Normalise the first `heads` heads if norm weights are given, and rotate them as `rotate` does; in place."""
        ...

    def gate(self, x_TN: Tensor) -> Tensor:
        """SiLU of the first half of each token's numbers, times the second half, [T, N / 2]."""
        ...


class ForwardFunctions(ProjectionProducts, Protocol):
    """Replacements for torch's arithmetic in a forward pass."""

    def pack_head(self, weight_VC: Tensor) -> Tensor:
        """The weight of the output layer or of a router, as `logits` and `route` read it."""
        ...

    def logits(self, x_TC: Tensor, weight_VC: Tensor, packed: Tensor) -> Tensor:
        """Each row times the transpose of the output layer's weight, [T, V]."""
        ...

    def route(self, x_TC: Tensor, weight_EC: Tensor, packed: Tensor) -> Tensor:
        """Each row times the transpose of a router's weight, [T, E]; it has gradients if the other functions do."""
        ...

    def norm(self, x: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
        """Each row divided by the root of its mean square, times the weight; rows are along the last axis."""
        ...

    def rotation(self, position_T: Tensor, frequency: Tensor) -> Rotation:
        """The rotation of tokens at these positions."""
        ...

    def turn(self, x_THD: Tensor, rotation: Rotation) -> Tensor:
        """Heads rotated by each token's angles, as by `rotate`, [T, H, D]."""
        ...

    def gate(self, gate_TN: Tensor, up_TN: Tensor) -> Tensor:
        """SiLU of the gate, times the other operand, [T, N]."""
        ...
