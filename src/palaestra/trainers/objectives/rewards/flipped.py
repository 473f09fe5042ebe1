"""The checklist as a judge that errs would score it. Axes: U turns, R trajectories, K criteria."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.rewards.last import pay_at_end


@part(
    "reward",
    "flipped",
    formula="R + sum_k flip_k where chance_k < share",
    requires=("flip_RK", "chance_RK"),
    neutral={"share": 0.0},
    conflicts={"reward/solved": "the outcome alone has no verdicts on criteria that a judge could get wrong"},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class FlippedVerdicts:
    """A share of the verdicts on single criteria is wrong; the last turn pays the difference.

    Language models that judge checklists err on single criteria. Here each final verdict of an episode is the other one
    with this probability, whatever the other verdicts are: an expectation that was met loses its points, one that was
    not met wins them, a prohibition that was kept takes its points, and one that was broken gives them back. Rules
    about ends and partial credit for early work are no verdicts and stay as they are; `passed_R` stays too.

    Flips are independent of what was done, so the expected return is (1 - 2 share) R and a number of the task's own.
    Which verdicts flip follows from the run's seed, the trajectory's name and the criterion's id alone: a run that goes
    on or is replayed has the same ones. A greater share flips those of a smaller one, and further ones.
    """

    share: float
    """The probability that a verdict is wrong, from 0 to 1."""

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError(f"share={self.share}: the probability that a verdict is wrong lies between 0 and 1")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        is_wrong_RK = batch.column("chance_RK") < self.share
        change_R = batch.column("flip_RK").masked_fill(~is_wrong_RK, 0.0).sum(1)
        return pay_at_end(change_R, batch)
