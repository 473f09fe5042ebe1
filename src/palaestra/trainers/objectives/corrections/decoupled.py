"""Decoupled PPO's behaviour weight, and a cheap approximation of its proximal policy. Axes: T tokens."""

import math
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.corrections.mismatch import conflicts_of, log_mismatch
from palaestra.trainers.objectives.part import part


@part(
    "correction",
    "decoupled",
    formula="old / rollout, at most cap, or 0 beyond it",
    sources=("arXiv:2505.24298", "github.com/inclusionAI/AReaL"),
    confidence="code",
    requires=("old_T",),
    neutral={"cap": math.inf},
    conflicts=conflicts_of("decoupled"),
    needs={
        "ratio.anchor=old": "the clip is around the proximal policy, and only the weight is of what drew the tokens"
    },
)
@dataclass(frozen=True, slots=True, kw_only=True)
class DecoupledWeight:
    """Decoupled PPO's behaviour weight (AReaL, arXiv:2505.24298): old / rollout, beside a clip around old.

    Means stay over all tokens, including those beyond the cap. Neutral, as importance sampling without a bound, with
    `cap` infinite.
    """

    cap: float = math.inf
    """The maximum weight. Default: no bound."""
    beyond: Literal["mask", "clamp"] = "mask"
    """Whether tokens beyond the cap have weight 0, or the cap."""

    def __post_init__(self) -> None:
        if self.cap < 1:
            raise ValueError(f"cap={self.cap}: tokens without a mismatch have weight 1; give 1 or more")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Correction`."""
        weight_T = log_mismatch(batch).exp()
        if self.beyond == "clamp":
            return weight_T.clamp_max(self.cap)
        return weight_T.masked_fill(weight_T > self.cap, 0.0)


def proximal_logprobs(now_T: Tensor, rollout_T: Tensor, drawn_T: Tensor, *, proximal: int, now: int) -> Tensor:
    """Approximate log-probabilities under intermediate weights, without a pass through them, [T]; no gradient.

    Log-linear in the version: rollout + share (now - rollout), share = (proximal - drawn) / (now - drawn). So it can
    replace `old_T` if the log-probabilities under the trained and the sampling versions are known. The share stays
    within 0 and 1; a token that the trained weights sampled has their log-probability.

    Args:
        now_T: Log-probabilities under the trained weights.
        rollout_T: Log-probabilities at sampling.
        drawn_T: The version that sampled each token.
        proximal: The requested version.
        now: The version of the trained weights.
    """
    since_T = now - drawn_T
    share_T = ((proximal - drawn_T) / since_T.clamp_min(1)).clamp(0.0, 1.0).masked_fill(since_T <= 0, 1.0)
    return (rollout_T + share_T.to(now_T.dtype) * (now_T - rollout_T)).detach()
