"""A penalty for lengths near the maximum. Axes: U turns, R trajectories."""

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
    """DAPO's soft overlong punishment (arXiv:2503.14476): first 0, then linear, then 1.

    L is the number of trained tokens of a trajectory.
    """

    longest: int
    """The length from which the full penalty applies; 20480 in the paper."""
    cache: int
    """The number of tokens before it over which the penalty grows; 4096 in the paper."""
    factor: float = 1.0
    """The full penalty."""

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
    """The penalty of each length, between -1 and 0; see `SoftOverlong`."""
    return ((longest - cache - length_R) / cache).clamp(-1, 0)
