"""Rewards in other units. Axes: U turns."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part


@part("reward", "unit", formula="r / size", confidence="derived", neutral={"size": 1.0})
@dataclass(frozen=True, slots=True, kw_only=True)
class RewardUnit:
    """Experimental: what a world pays, in units of `size`, for methods whose constants are for returns of about 1.

    A rubric's points go up to 100. Advantages over a deviation do not mind; bonuses, penalties, temperatures and
    thresholds do. It stands before other rewards.
    """

    size: float
    """How much is one."""

    def __post_init__(self) -> None:
        if self.size <= 0:
            raise ValueError(f"size={self.size}: rewards are divided by it; give a number above 0")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        return batch.reward_U / self.size
