"""The arithmetic of a forward pass, where it is not torch's own.

Axes: T tokens, C hidden, H heads, D head dimension, N columns, E experts, V vocabulary.
"""

from typing import Protocol, TypeAlias

from torch import Tensor

from palaestra.trainers.model.projection import ProjectionProducts

Rotation: TypeAlias = tuple[Tensor, Tensor]
"""Cosines of each token's angles and sines, those of the first half negated, [T, 1, D] each."""


class Operations(Protocol):
    """What a joined decoder does between its products, by something quicker than torch's single steps."""

    def norm(self, x_TC: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
        """Each token's states over the root of their mean square, times the weight."""
        ...

    def turn(
        self, x_THD: Tensor, cos_TD: Tensor, sin_TD: Tensor, *, heads: int, norm_HD: Tensor | None, epsilon: float
    ) -> None:
        """Norm the first `heads` heads where there are weights for it, and turn them as `rotate` does; in place."""
        ...

    def gate(self, x_TN: Tensor) -> Tensor:
        """The first half of each token's numbers through SiLU, times the second, [T, N / 2]."""
        ...


class ForwardFunctions(ProjectionProducts, Protocol):
    """The arithmetic of a forward pass, where it is not torch's own."""

    def pack_head(self, weight_VC: Tensor) -> Tensor:
        """The weight of the output layer or of a router, as `logits` and `route` read it."""
        ...

    def logits(self, x_TC: Tensor, weight_VC: Tensor, packed: Tensor) -> Tensor:
        """Each row times the transpose of the output layer's weight, [T, V]."""
        ...

    def route(self, x_TC: Tensor, weight_EC: Tensor, packed: Tensor) -> Tensor:
        """Each row times the transpose of a router's weight, [T, E]; gradients pass it where the others give any."""
        ...

    def norm(self, x: Tensor, weight_C: Tensor, epsilon: float) -> Tensor:
        """Each row over the root of its mean square, times the weight; rows are along the last axis."""
        ...

    def rotation(self, position_T: Tensor, frequency: Tensor) -> Rotation:
        """The rotation of tokens at these positions."""
        ...

    def turn(self, x_THD: Tensor, rotation: Rotation) -> Tensor:
        """Heads turned by each token's angles, as `rotate` does."""
        ...

    def gate(self, gate_TN: Tensor, up_TN: Tensor) -> Tensor:
        """The gate through SiLU, times the other."""
        ...
