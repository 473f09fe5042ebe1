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

    Only the excess over the budget is penalised, while lambda follows the mean length of all trajectories that filters
    have kept, up or down. A batch is penalised with the lambda of the batches before it. L is the number of trained
    tokens of a trajectory. The ceiling keeps long correct trajectories above incorrect ones. If advantages are divided
    by a standard deviation, even a small penalty is amplified in groups that all pass.

    Call it once for each batch.
    """

    budget: float
    """B, the budget in tokens."""
    rate: float = 2e-3
    """The step size of lambda; the authors' code has 3.5e-3."""
    start: float = 0.0
    """The initial lambda."""
    floor: float = 0.0
    """The minimum lambda after a step; the authors' code has 3e-4."""
    ceiling: float = 2e-3
    """The maximum lambda."""
    most: float = 0.04
    """The maximum penalty of one trajectory's length, as in the authors' code."""
    longest: int | None = None
    """The length from which a trajectory counts as truncated; `None` for none."""
    hit: float = 0.01
    """The additional penalty of truncation, as in the authors' code."""
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
        """The current lambda."""
        return self._price

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`; updates lambda afterwards."""
        length_R = count_over(batch.trained_T, batch.trajectory_T, batch.trajectories).to(batch.reward_U.dtype)
        reward_U = pay_at_end(-self.penalty(length_R), batch)
        self.follow(length_R)
        return reward_U

    def penalty(self, length_R: Tensor) -> Tensor:
        """The penalty of each length at the current lambda, [R]."""
        cost_R = (self._price * (length_R / self.budget - 1).clamp_min(0)).clamp_max(self.most)
        if self.longest is not None:
            cost_R = cost_R + self.hit * (length_R >= self.longest).to(cost_R.dtype)
        return cost_R

    def follow(self, length_R: Tensor) -> None:
        """Update lambda after a batch with these lengths."""
        if len(length_R):
            excess = float((length_R.double() / self.budget).mean()) - 1
            self._price = min(max(self._price + self.rate * excess, self.floor), self.ceiling)

    def state(self) -> dict[str, object]:
        """See `Stateful`."""
        return {"lambda": self._price}

    def restore(self, state: dict[str, object]) -> None:
        """See `Stateful`."""
        self._price = cast("float", state["lambda"])
