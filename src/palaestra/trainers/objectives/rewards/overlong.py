"""A price on coming near the greatest length. Axes: U turns, R trajectories."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.rewards.last import pay_at_end
from palaestra.trainers.objectives.segments import count_over


@part(
    "reward",
    "soft-overlong",
    formula="R + factor clip((longest - cache - L) / cache, -1, 0)",
    sources=("arXiv:2503.14476", "github.com/volcengine/verl"),
    confidence="code",
    neutral={"factor": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class SoftOverlong:
    """DAPO's soft overlong punishment (arXiv:2503.14476): nothing, then linear, then 1.

    L is how many tokens of the trajectory are trained.
    """

    longest: int
    """The length from which on the price is whole; 20480 in the paper."""
    cache: int
    """Over how many tokens before it the price grows; 4096 in the paper."""
    factor: float = 1.0
    """The whole price."""

    def __post_init__(self) -> None:
        if not 0 < self.cache <= self.longest or self.factor < 0:
            raise ValueError(
                f"longest={self.longest}, cache={self.cache}, factor={self.factor}: the price grows over cache tokens, "
                "1 at least and longest at most, and is not negative"
            )

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        length_R = count_over(batch.trained_T, batch.trajectory_T, batch.trajectories)
        change_R = overlong_penalty(length_R.to(batch.reward_U.dtype), longest=self.longest, cache=self.cache)
        return pay_at_end(self.factor * change_R, batch)


def overlong_penalty(length_R: Tensor, *, longest: int, cache: int) -> Tensor:
    """Within -1 and 0, for each length; see `SoftOverlong`."""
    return ((longest - cache - length_R) / cache).clamp(-1, 0)
