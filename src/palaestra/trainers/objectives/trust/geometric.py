"""A trust region on a trajectory's geometric mean, clipped by token. Axes: N trained tokens, R trajectories."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import mean_over
from palaestra.trainers.objectives.trust.region import Surrogate

_TOO_OFTEN = "a trajectory's mean would count once for each of its tokens"


@part(
    "trust",
    "gmpo",
    formula="C = exp(mean d'), 0 where clipped; d' = min(d, high) where A > 0, max(d, -low) where A < 0; d = log r",
    sources=("arXiv:2507.20673", "github.com/volcengine/verl"),
    confidence="code",
    neutral={"low": math.inf, "high": math.inf},
    needs={"ratio.granularity=token": "it clips the ratios of tokens, and takes their mean itself"},
    conflicts={"aggregation=token-mean": _TOO_OFTEN, "aggregation=token-sum": _TOO_OFTEN},
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Gmpo:
    """GMPO (arXiv:2507.20673): the geometric mean of a trajectory's ratios, each clipped on the harmful side.

    C = exp(mean of d'), d' the clipped logarithms of the ratios, and 0 for a token that is clipped itself. The mean is
    over the trajectory's tokens that count in the step. As with GSPO-token, every token has the trajectory's value and
    its own gradient: in `seq-mean-token-mean`, with one advantage per trajectory, value and gradient are those of -A
    exp(mean of d'). Neutral, as GSPO without a clip, with `low` and `high` infinite; with one token per trajectory it
    is then the ratio itself.
    """

    low: float = 0.4
    """How far below 0 the logarithm of a ratio may fall if the advantage is negative."""
    high: float = 0.4
    """How far above 0 it may rise if the advantage is positive."""

    def __post_init__(self) -> None:
        if self.low < 0 or self.high < 0:
            raise ValueError(f"low={self.low}, high={self.high}: distances from 0 are not negative")

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        log_N, advantage_N = surrogate.log_ratio_N, surrogate.advantage_N
        clipped_N = torch.where(
            advantage_N > 0,
            log_N.clamp_max(self.high),
            torch.where(advantage_N < 0, log_N.clamp_min(-self.low), log_N),
        )
        trajectory_N = surrogate.trajectory_N
        trajectories = int(trajectory_N.max()) + 1 if len(trajectory_N) else 0
        mean_N = mean_over(clipped_N.detach(), trajectory_N, trajectories)[trajectory_N]
        return -advantage_N * (mean_N + clipped_N - clipped_N.detach()).exp()

    def silenced_tokens(self, surrogate: Surrogate) -> Tensor:
        """Which tokens have no gradient although they have an advantage."""
        log_N, advantage_N = surrogate.log_ratio_N.detach(), surrogate.advantage_N
        return ((advantage_N > 0) & (log_N > self.high)) | ((advantage_N < 0) & (log_N < -self.low))
