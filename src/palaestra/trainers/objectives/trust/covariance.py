"""Trust regions for the few tokens that reduce a policy's entropy most. Axes: T tokens, N trained tokens.

A token reduces entropy by the product of the distances of its advantage and of its log-probability from their means.
Both are compared over the whole step; published code compares them within a micro-batch.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.trust.clipped import Clip
from palaestra.trainers.objectives.trust.region import Surrogate

_DROPPED = "clip_cov_T"
_HELD = "kl_cov_T"


def covariance(advantage_T: Tensor, logp_T: Tensor, counted_T: Tensor) -> Tensor:
    """(A - mean A) (logp - mean logp) of each token, [T]; 0 where it does not count.

    Args:
        advantage_T: The advantage of each token.
        logp_T: The log-probability of each token; ignored if it does not count.
        counted_T: The tokens of the means.
    """
    found_T = torch.zeros_like(advantage_T)
    if counted_T.any():
        advantage_N, logp_N = advantage_T[counted_T], logp_T[counted_T].to(advantage_T.dtype)
        found_T[counted_T] = (advantage_N - advantage_N.mean()) * (logp_N - logp_N.mean())
    return found_T


def _check(fraction: float) -> None:
    if not 0 <= fraction <= 1:
        raise ValueError(f"fraction={fraction}: a share of the tokens is from 0 to 1; give 0 for none")


@part(
    "trust",
    "clip-cov",
    formula="clip, and C = 0 for fraction n tokens drawn from those with cov from least to most",
    sources=("arXiv:2505.22617", "github.com/volcengine/verl"),
    confidence="code",
    requires=("now_T",),
    neutral={"fraction": 0.0},
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class ClipCov:
    """Clip-Cov (arXiv:2505.22617): PPO's clip, with no gradient for a few random tokens of high covariance.

    C is that of `Clip`, and 0 for the selected tokens. Some of them may be clipped anyway; verl does not select those.
    Neutral, as `Clip`, with `fraction` 0.
    """

    fraction: float = 2e-4
    """The share of the step's trained tokens to select, rounded down; fewer if there are not enough."""
    least: float = 1.0
    """The minimum covariance that counts as high."""
    most: float = 5.0
    """The maximum covariance of selected tokens."""
    low: float = 0.2
    """How far below 1 the ratio may fall before a loss is clipped."""
    high: float = 0.2
    """How far above 1 the ratio may rise before a gain is clipped."""
    dual: float | None = None
    """See `Clip`."""
    seed: int = 0
    """Random seed; the selection depends only on it and the tokens' ids."""

    def __post_init__(self) -> None:
        _check(self.fraction)
        if self.most < self.least:
            raise ValueError(f"least={self.least}, most={self.most}: no covariance is between them")
        self._clip()

    def columns(self, batch: TokenBatch) -> Mapping[str, Tensor]:
        """See `StepColumns`: the selected tokens."""
        own_T = batch.trained_T
        cov_T = covariance(batch.advantage_T, batch.column("now_T"), own_T)
        high_T = own_T & (cov_T >= self.least) & (cov_T <= self.most)
        return {_DROPPED: _draw(high_T, math.floor(self.fraction * int(own_T.sum())), batch, seed=self.seed)}

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        return self._clip()(surrogate).masked_fill(surrogate.columns[_DROPPED].bool(), 0.0)

    def silenced_tokens(self, surrogate: Surrogate) -> Tensor:
        """Which tokens have no gradient although they have an advantage."""
        dropped_N = surrogate.columns[_DROPPED].bool() & (surrogate.advantage_N != 0)
        return self._clip().silenced_tokens(surrogate) | dropped_N

    def _clip(self) -> Clip:
        return Clip(low=self.low, high=self.high, dual=self.dual)


def _draw(from_T: Tensor, count: int, batch: TokenBatch, *, seed: int) -> Tensor:
    """`count` random tokens, or all if there are fewer, [T]; independent of the order of trajectories."""
    chosen_T = torch.zeros_like(from_T)
    if count == 0:
        return chosen_T
    lots: list[tuple[int, int]] = []
    trajectory_T = batch.trajectory_T
    for trajectory in trajectory_T[from_T].unique().tolist():
        place_X = (trajectory_T == trajectory).nonzero()[:, 0]
        stream = Stream.root("clip-cov", seed, *batch.ids_T[place_X].tolist())
        within_X = from_T[place_X].nonzero()[:, 0]
        for within, place in zip(within_X.tolist(), place_X[within_X].tolist(), strict=True):
            lots.append((stream.split(within).word(), place))
    places = [place for _, place in sorted(lots)[:count]]
    chosen_T[torch.tensor(places, dtype=torch.long, device=from_T.device)] = True
    return chosen_T


@part(
    "trust",
    "kl-cov",
    formula="C = r, and + coefficient |log r| for the fraction n tokens of greatest cov",
    sources=("arXiv:2505.22617", "github.com/volcengine/verl"),
    confidence="code",
    requires=("now_T",),
    neutral={"fraction": 0.0},
    needs={"ratio.granularity=token": "it holds single tokens to where they were"},
    pulls=True,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class KlCov:
    """KL-Cov (arXiv:2505.22617): no clip, and a penalty on the distance of the few tokens with the greatest covariance.

    C = ratio. The loss of selected tokens has the additional term `coefficient` times |log ratio|, whose gradient is 0
    at ratio 1. Neutral, as `UnclippedRatio`, with `fraction` 0.
    """

    fraction: float = 2e-4
    """The share of the step's trained tokens to select, rounded down; only tokens with a positive covariance."""
    coefficient: float = 1.0
    """The coefficient of the distance."""

    def __post_init__(self) -> None:
        _check(self.fraction)
        if self.coefficient < 0:
            raise ValueError(f"coefficient={self.coefficient}: below 0 it would drive tokens off; give 0 for none")

    def columns(self, batch: TokenBatch) -> Mapping[str, Tensor]:
        """See `StepColumns`: the selected tokens."""
        own_T = batch.trained_T
        cov_T = covariance(batch.advantage_T, batch.column("now_T"), own_T).masked_fill(~own_T, -math.inf)
        count = math.floor(self.fraction * int(own_T.sum()))
        held_T = torch.zeros_like(own_T)
        held_T[cov_T.argsort(descending=True, stable=True)[:count]] = True
        return {_HELD: held_T & (cov_T > 0)}

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        log_N = surrogate.log_ratio_N
        off_N = log_N.abs().masked_fill(~surrogate.columns[_HELD].bool(), 0.0)
        return self.coefficient * off_N - surrogate.advantage_N * log_N.exp()
