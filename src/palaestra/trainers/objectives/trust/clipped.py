"""Trust regions with hard bounds: beyond them there is no gradient, or a bounded one. Axes: N trained tokens."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.trust.region import Surrogate


@part(
    "trust",
    "clip",
    formula="C = r, 0 where A > 0 and r > 1 + high, where A < 0 and (r < 1 - low or r > dual)",
    sources=("arXiv:1707.06347", "arXiv:2503.14476", "arXiv:1912.09729"),
    confidence="code",
    neutral={"low": math.inf, "high": math.inf},
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """The clipped surrogate of PPO (Schulman et al. 2017, arXiv:1707.06347, eq. 7).

    With `high` above `low` it is DAPO's clip-higher (arXiv:2503.14476). C = ratio, or 0 where the token is clipped.
    Neutral, as REINFORCE weighted by the ratio, with `low` and `high` infinite.

    On the ratio of a sequence or of a turn it is GSPO (arXiv:2507.18071; 3e-4 and 4e-4). LOOP's bounds
    (arXiv:2502.01600), 1 / (1 + e) and 1 + e, are `low` e / (1 + e) and `high` e.
    """

    low: float = 0.2
    """How far below 1 the ratio may fall before a loss is clipped."""
    high: float = 0.2
    """How far above 1 the ratio may rise before a gain is clipped."""
    dual: float | None = None
    """For negative advantages, the ratio from which on the gradient is 0 (dual clip, Ye et al. 2020, arXiv:1912.09729).
    INTELLECT-2's delta (arXiv:2505.07291), which bounds the unclipped ratio for any advantage, is the same if it is
    above 1 + `high`: gains are clipped before they reach it. Often 3 to 10."""

    def __post_init__(self) -> None:
        if self.low < 0 or self.high < 0:
            raise ValueError(f"low={self.low}, high={self.high}: distances from 1 are not negative")
        if self.dual is not None and self.dual <= 1 + self.high:
            raise ValueError(
                f"dual={self.dual}, high={self.high}: it bounds ratios beyond 1 + high; leave it out for none"
            )

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        advantage_N = surrogate.advantage_N
        ratio_N = surrogate.log_ratio_N.exp()
        clipped_N = ratio_N.clamp(1 - self.low, 1 + self.high)
        loss_N = torch.maximum(-advantage_N * ratio_N, -advantage_N * clipped_N)
        if self.dual is None:
            return loss_N
        return torch.where(advantage_N < 0, torch.minimum(loss_N, -advantage_N * self.dual), loss_N)

    def silenced_tokens(self, surrogate: Surrogate) -> Tensor:
        """Which tokens have no gradient although they have an advantage."""
        advantage_N, ratio_N = surrogate.advantage_N, surrogate.log_ratio_N.detach().exp()
        far_N = ratio_N < 1 - self.low
        if self.dual is not None:
            far_N |= ratio_N > self.dual
        return ((advantage_N > 0) & (ratio_N > 1 + self.high)) | ((advantage_N < 0) & far_N)


@part(
    "trust",
    "cispo",
    formula="C = clip(r, 1 - low, 1 + high), without gradient",
    sources=("arXiv:2506.13585",),
    confidence="code",
    neutral={"low": 1.0, "high": math.inf},
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Cispo:
    """CISPO (arXiv:2506.13585): the ratio is a clipped weight without gradient; every token keeps its gradient.

    C = clip(ratio, 1 - low, 1 + high). Neutral, as REINFORCE weighted by the ratio, with `low` 1 and `high` infinite.
    """

    low: float = 1.0
    """How far below 1 the weight may fall; with 1, as in the paper, down to 0."""
    high: float = 4.0
    """How far above 1 the weight may rise; 4 is ScaleRL's cap of 5 on the weight itself."""

    def __post_init__(self) -> None:
        if self.low < 0 or self.high < 0:
            raise ValueError(f"low={self.low}, high={self.high}: distances from 1 are not negative")

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        weight_N = surrogate.log_ratio_N.detach().exp().clamp(1 - self.low, 1 + self.high)
        return -weight_N * surrogate.advantage_N * surrogate.logp_N


@part(
    "trust",
    "dcpo",
    formula="clip with bounds from |(r - 1) r| q <= epsilon",
    sources=("arXiv:2509.02333", "github.com/lime-RL/DCPO"),
    confidence="code",
    needs={"ratio.granularity=token": "it looks at a token's own probability"},
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Dcpo:
    """DCPO (arXiv:2509.02333): clip bounds that allow rare tokens larger ratios.

    From |(ratio - 1) ratio| q <= epsilon, q the token's probability under the anchor. C is that of `Clip` with these
    bounds. No setting is neutral: losses are always clipped below a ratio of 1/2.
    """

    low: float = 0.16
    """epsilon of ratios below 1."""
    high: float = 0.2
    """epsilon of ratios above 1."""
    most: float = 10.0
    """The maximum upper bound, and the dual clip."""

    def __post_init__(self) -> None:
        if self.low < 0 or self.high < 0:
            raise ValueError(f"low={self.low}, high={self.high}: how far a ratio may move is not negative")
        if self.most <= 1:
            raise ValueError(f"most={self.most}: it bounds ratios above 1; give inf for no bound")

    def bounds(self, anchor_N: Tensor) -> tuple[Tensor, Tensor]:
        """The lower and the upper bound of each token's ratio."""
        rarity_N = (-anchor_N).exp()
        lower_N = 0.5 + 0.5 * (1 - 4 * self.low * rarity_N).clamp_min(0).sqrt()
        upper_N = (0.5 + 0.5 * (1 + 4 * self.high * rarity_N).sqrt()).clamp_max(self.most)
        return lower_N, upper_N

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        advantage_N = surrogate.advantage_N
        ratio_N = surrogate.log_ratio_N.exp()
        lower_N, upper_N = self.bounds(surrogate.anchor_N)
        clipped_N = torch.minimum(torch.maximum(ratio_N, lower_N), upper_N)
        loss_N = torch.maximum(-advantage_N * ratio_N, -advantage_N * clipped_N)
        return torch.where(advantage_N < 0, torch.minimum(loss_N, -advantage_N * self.most), loss_N)


@part(
    "trust",
    "dppo",
    formula="C = min(r, cap), 0 where q r - q > high (A > 0) or < -low (A < 0)",
    sources=("arXiv:2602.04879",),
    confidence="code",
    neutral={"low": 1.0, "high": 1.0, "cap": math.inf},
    needs={"ratio.granularity=token": "it looks at a token's own probability"},
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Dppo:
    """DPPO (arXiv:2602.04879), by total variation: a token has no gradient once its probability has moved far enough.

    C = min(ratio, cap) if the probability has moved less than delta in the direction of its advantage, else 0. Neutral
    with both deltas at 1 or more.
    """

    low: float = 0.2
    """How far a probability may fall if the advantage is negative."""
    high: float = 0.2
    """How far it may rise if the advantage is positive."""
    cap: float = 20.0
    """The maximum weight."""

    def __post_init__(self) -> None:
        if self.low < 0 or self.high < 0:
            raise ValueError(f"low={self.low}, high={self.high}: how far a probability may move is not negative")
        if self.cap < 1:
            raise ValueError(f"cap={self.cap}: a token that has not moved weighs 1; give 1 or more")

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        advantage_N = surrogate.advantage_N
        moved_N = surrogate.logp_N.detach().exp() - surrogate.anchor_N.exp()
        far_N = ((advantage_N > 0) & (moved_N > self.high)) | ((advantage_N < 0) & (moved_N < -self.low))
        weight_N = surrogate.log_ratio_N.detach().exp().clamp_max(self.cap).masked_fill(far_N, 0.0)
        return -weight_N * advantage_N * surrogate.logp_N
