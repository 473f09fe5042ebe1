"""Rewards shaped by the value of states. Axes: U turns, R trajectories."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.discounts import refuse_beyond_one
from palaestra.trainers.objectives.advantages.turns import before
from palaestra.trainers.objectives.part import part


@part(
    "reward",
    "potential",
    formula="r_t + w (gamma V(s_{t+1}) - V(s_t))",
    sources=("arXiv:2502.10325", "github.com/sanjibanc/agent_prm"),
    confidence="secondary",
    requires=("potential_U", "potential_R"),
    neutral={"weight": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Potential:
    """Potential-based shaping, as in AgentPRM (arXiv:2502.10325): rewards a turn's change of the state's value too.

    Over a trajectory, the discounted shaping adds up to gamma^T V(last) - V(first): it prefers no path over another,
    and trajectories with the same beginning differ only by their ends. Neutral with `weight` 0.
    """

    weight: float = 1.0
    """Weight of the shaping."""
    gamma: float = 1.0
    """The discount, equal to that of the returns computed from it."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma=self.gamma)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        shaping_U = potential_differences(
            batch.column("potential_U"), batch.column("potential_R"), batch.trajectory_U, gamma=self.gamma
        )
        return batch.reward_U + self.weight * shaping_U.to(batch.reward_U.dtype)


def potential_differences(
    potential_U: Tensor, potential_R: Tensor, trajectory_U: Tensor, *, gamma: float = 1.0
) -> Tensor:
    """The discounted value after each turn minus the value before it, [U].

    Args:
        potential_U: The value of the state after each turn.
        potential_R: The value before the first turn.
        trajectory_U: The trajectory of each turn, ascending.
        gamma: The discount.
    """
    return gamma * potential_U - before(potential_U, potential_R, trajectory_U)
