"""An adaptive length penalty, which rises while trajectories are longer than a budget. Axes: R trajectories."""

from dataclasses import dataclass, field
from typing import cast

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.rewards.last import pay_at_end
from palaestra.trainers.objectives.segments import count_over


@part(
    "reward",
    "laconic",
    formula="R - min(lambda max(0, L / B - 1), most); lambda <- clip(lambda + rate (mean L / B - 1), floor, ceiling)",
    sources=("arXiv:2602.14468",),
    confidence="paper",
    neutral={"ceiling": 0.0},
)
@dataclass(slots=True, kw_only=True)
class Laconic:
    """LACONIC (arXiv:2602.14468): the Lagrangian of a length budget, lambda its multiplier.

    Only what exceeds the budget is paid for, while lambda follows the mean of all lengths, to either side, of
    those that filters have left. A batch is
    priced with the lambda of those before it. L is how many tokens of the trajectory are trained. The ceiling keeps
    what is right and long above what is wrong; a standard deviation that advantages are divided by magnifies even a
    small price where all of a group is right.

    It is to be called once for each batch.
    """

    budget: float
    """B, in tokens."""
    rate: float = 2e-3
    """Of lambda's steps; the authors' code has 3.5e-3."""
    start: float = 0.0
    """The first lambda."""
    floor: float = 0.0
    """The least one after a step; the authors' code has 3e-4."""
    ceiling: float = 2e-3
    """The greatest one."""
    most: float = 0.04
    """The greatest price of one trajectory's length, as in the authors' code."""
    longest: int | None = None
    """The length that counts as cut off; None for none."""
    hit: float = 0.01
    """What being cut off costs beside, as in the authors' code."""
    _price: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.budget <= 0 or self.rate < 0 or self.most < 0 or self.hit < 0:
            raise ValueError(
                f"budget={self.budget}, rate={self.rate}, most={self.most}, hit={self.hit}: "
                "a budget is above 0, and nothing else is negative"
            )
        if not (0 <= self.floor <= self.ceiling and 0 <= self.start <= self.ceiling):
            raise ValueError(
                f"start={self.start}, floor={self.floor}, ceiling={self.ceiling}: start and floor lie within 0 and "
                "ceiling; for no price at all, let ceiling be 0"
            )
        self._price = self.start

    @property
    def price(self) -> float:
        """The present lambda."""
        return self._price

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`; lambda takes its step afterwards."""
        length_R = count_over(batch.trained_T, batch.trajectory_T, batch.trajectories).to(batch.reward_U.dtype)
        reward_U = pay_at_end(-self.penalty(length_R), batch)
        self.follow(length_R)
        return reward_U

    def penalty(self, length_R: Tensor) -> Tensor:
        """What each length costs at the present lambda, [R]."""
        cost_R = (self._price * (length_R / self.budget - 1).clamp_min(0)).clamp_max(self.most)
        if self.longest is not None:
            cost_R = cost_R + self.hit * (length_R >= self.longest).to(cost_R.dtype)
        return cost_R

    def follow(self, length_R: Tensor) -> None:
        """Lambda's step, after a batch of these lengths."""
        if len(length_R):
            excess = float((length_R.double() / self.budget).mean()) - 1
            self._price = min(max(self._price + self.rate * excess, self.floor), self.ceiling)

    def state(self) -> dict[str, object]:
        """See `Stateful`."""
        return {"lambda": self._price}

    def restore(self, state: dict[str, object]) -> None:
        """See `Stateful`."""
        self._price = cast("float", state["lambda"])
