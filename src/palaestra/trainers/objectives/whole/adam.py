"""Adam for a few numbers that an objective learns."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

_KEPT = 0.9
_KEPT_SQUARES = 0.999
_EPSILON = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class AdamParameter:
    """Numbers with the moments of Adam (arXiv:1412.6980).

    All are float64, which JSON keeps exactly.
    """

    value: Tensor
    mean: Tensor
    """The decaying mean of gradients."""
    square: Tensor
    """The decaying mean of squared gradients."""
    steps: Tensor
    """The number of steps; one for all numbers, or one for each."""

    @classmethod
    def new(cls, value: Tensor, *, each: bool = False) -> "AdamParameter":
        """Initial numbers, without any step.

        Args:
            value: The initial values.
            each: Whether steps are counted separately for each number.
        """
        zeros = torch.zeros_like(value)
        return cls(value=value, mean=zeros, square=zeros, steps=zeros if each else value.new_zeros(()))

    def at(self, chosen_X: Tensor) -> "AdamParameter":
        """The chosen numbers, if each counts its own steps."""
        return AdamParameter(
            value=self.value[chosen_X],
            mean=self.mean[chosen_X],
            square=self.square[chosen_X],
            steps=self.steps[chosen_X],
        )

    def put(self, chosen_X: Tensor, some: "AdamParameter") -> "AdamParameter":
        """All numbers, with the chosen ones replaced."""
        return AdamParameter(
            value=self.value.index_copy(0, chosen_X, some.value),
            mean=self.mean.index_copy(0, chosen_X, some.mean),
            square=self.square.index_copy(0, chosen_X, some.square),
            steps=self.steps.index_copy(0, chosen_X, some.steps),
        )

    def step(self, gradient: Tensor, *, rate: float) -> "AdamParameter":
        """The numbers after a step against `gradient`."""
        steps = self.steps + 1
        mean = _KEPT * self.mean + (1 - _KEPT) * gradient
        square = _KEPT_SQUARES * self.square + (1 - _KEPT_SQUARES) * gradient.square()
        deviation = (square / (1 - _KEPT_SQUARES**steps)).sqrt()
        value = self.value - rate * (mean / (1 - _KEPT**steps)) / (deviation + _EPSILON)
        return AdamParameter(value=value, mean=mean, square=square, steps=steps)

    def state(self) -> dict[str, object]:
        """The state, as plain JSON."""
        return {
            "value": self.value.tolist(),
            "mean": self.mean.tolist(),
            "square": self.square.tolist(),
            "steps": self.steps.tolist(),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "AdamParameter":
        """Restore the result of `state`."""
        return cls(
            **{name: torch.tensor(state[name], dtype=torch.float64) for name in ("value", "mean", "square", "steps")}
        )
