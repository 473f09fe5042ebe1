"""A bonus for tool calls in trajectories that pass. Axes: U turns, R trajectories."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.rewards.last import pay_at_end
from palaestra.trainers.objectives.segments import sum_over


@part(
    "reward",
    "tool-bonus",
    formula="R + coefficient min(calls, most) where passed",
    sources=("arXiv:2602.20739", "github.com/agents-x-project/PyVision-RL"),
    confidence="code",
    requires=("tools_U", "passed_R"),
    neutral={"coefficient": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolBonus:
    """PyVision-RL's accumulative tool reward (arXiv:2602.20739), against policies that stop using their tools.

    A trajectory that did not pass has no bonus. Equal calls within a turn count once, and refused calls do not count;
    this and the bound are ours, because a bonus without them can be farmed.
    """

    most: int
    """The maximum number of rewarded calls; the paper has no bound."""
    coefficient: float = 0.1
    """The reward of each call."""

    def __post_init__(self) -> None:
        if self.most < 0 or self.coefficient < 0:
            raise ValueError(f"most={self.most}, coefficient={self.coefficient}: neither is negative")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        calls_U = batch.column("tools_U").to(batch.reward_U.dtype)
        calls_R = sum_over(calls_U, batch.trajectory_U, batch.trajectories).clamp_max(self.most)
        return pay_at_end((self.coefficient * calls_R).masked_fill(batch.column("passed_R") == 0, 0.0), batch)
