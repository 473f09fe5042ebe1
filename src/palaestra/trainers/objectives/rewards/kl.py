"""A penalty on the distance to the reference, as a reward of each turn. Axes: T tokens, U turns."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import sum_over

_RAREST = -20.0


@part(
    "reward",
    "kl-in-reward",
    formula="r_u - beta sum_u(logprob - ref)",
    sources=("arXiv:1909.08593", "github.com/volcengine/verl"),
    confidence="code",
    requires=("ref_T",),
    neutral={"beta": 0.0},
    conflicts={"regulariser/kl": "the distance from the reference would be paid for twice"},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class KlInReward:
    """The distance to the reference as a part of rewards (Ziegler et al. 2019, arXiv:1909.08593).

    It is the k1 estimate, logprob - ref of the policy's tokens, summed over each turn. It is correct as a reward; as a
    loss, its expected gradient would be 0.
    """

    beta: float
    """The penalty per nat."""

    def __post_init__(self) -> None:
        if self.beta < 0:
            raise ValueError(f"beta={self.beta}: the penalty per nat is not negative")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Reward`."""
        own_T = batch.trained_T & (batch.turn_T >= 0)
        # A sampled token has a positive probability, whatever an engine that drops small probabilities reports.
        drawn_N = batch.logprob_T[own_T].clamp_min(_RAREST)
        k1_N = (drawn_N - batch.column("ref_T")[own_T]).to(batch.reward_U.dtype)
        return batch.reward_U - self.beta * sum_over(k1_N, batch.turn_T[own_T], len(batch.reward_U))
