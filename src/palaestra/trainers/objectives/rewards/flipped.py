"""The checklist as scored by a judge with errors. Axes: U turns, R trajectories, K criteria."""

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
    """Flips a share of the verdicts on single criteria; the last turn gets the difference in reward.

    Language models that judge checklists err on single criteria. Here each final verdict of an episode is flipped with
    this probability, independent of the others: a met expectation loses its points, an unmet one wins them, a kept
    prohibition costs its points, and a broken one gives them back. Rules about ends and partial credit for early work
    are not verdicts and do not change, nor does `passed_R`.

    Flips are independent of the work, so the expected return is (1 - 2 share) R plus a constant of the task. Only the
    run's seed, the trajectory's name and the criterion's id decide which verdicts flip: a resumed or replayed run has
    the same flips. A larger share flips those of a smaller one, and more.
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
