"""Columns from the world's reward of each turn: a checklist instead of a judge. Axes: U turns, R trajectories."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.fillers.filler import column
from palaestra.trainers.fillers.inputs import FillerInput
from palaestra.trainers.objectives.segments import mean_over


@column("label_U", filler="rewards")
@dataclass(frozen=True, slots=True, kw_only=True)
class RewardLabels:
    """1 where the turn's reward is above a threshold, otherwise 0: by the rubric's checklist, without a judge."""

    threshold: float = 0.0
    """The threshold, in the units of the world's rewards."""

    def __call__(self, given: FillerInput, /) -> Tensor:
        """See `FillColumn`."""
        return (given.batch.reward_U > self.threshold).to(given.batch.reward_U.dtype)


@column("process_R", filler="rewards")
def mean_turn_reward(given: FillerInput) -> Tensor:
    """The mean reward of a trajectory's turns, instead of a process reward model; 0 without turns."""
    batch = given.batch
    return mean_over(batch.reward_U, batch.trajectory_U, batch.trajectories)
