"""Trust regions without hard bounds: the gradient decreases with the distance. Axes: N trained tokens."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.trust.region import Surrogate


@part("trust", "unclipped", formula="C = r", sources=("arXiv:1707.06347",), confidence="code", neutral={}, pulls=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class UnclippedRatio:
    """The ratio itself: importance-weighted REINFORCE. C = ratio."""

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        return -surrogate.advantage_N * surrogate.log_ratio_N.exp()


@part("trust", "reinforce", formula="C = 1", sources=("Williams 1992",), confidence="paper", neutral={}, pulls=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforce:
    """REINFORCE (Williams 1992), without a trust region. C = 1, whatever the ratio."""

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        return -surrogate.advantage_N * surrogate.logp_N


@part(
    "trust",
    "sapo",
    formula="C = 4 r p (1 - p), p = sigmoid(tau (r - 1))",
    sources=("arXiv:2511.20347",),
    confidence="code",
    neutral={"positive": 1e-9, "negative": 1e-9},
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Sapo:
    """SAPO (arXiv:2511.20347): a sigmoid gate around ratio 1.

    C = ratio * 4 p (1 - p), p = sigmoid(tau (ratio - 1)), which is ratio * sech(tau (ratio - 1) / 2)**2. Losses cannot
    be compared with those of `Clip`: at ratio 1 they are -2 A / tau, though the gradients are equal. Neutral as tau
    tends to 0.
    """

    positive: float = 1.0
    """tau for positive advantages."""
    negative: float = 1.05
    """tau for all other advantages."""

    def __post_init__(self) -> None:
        if self.positive <= 0 or self.negative <= 0:
            raise ValueError(f"positive={self.positive}, negative={self.negative}: a gate's tau is above 0")

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        advantage_N = surrogate.advantage_N
        tau_N = torch.full_like(advantage_N, self.negative).masked_fill_(advantage_N > 0, self.positive)
        gate_N = (tau_N * (surrogate.log_ratio_N.exp() - 1)).sigmoid() * (4 / tau_N)
        return -advantage_N * gate_N


@part(
    "trust",
    "maspo",
    formula="C = r F, F = exp(-(r - 1)^2 / (2 sigma^2)) on the harmful side, else 1",
    sources=("arXiv:2602.17550",),
    confidence="paper",
    neutral={"sigma": math.inf},
    needs={"ratio.granularity=token": "its width goes by a token's own probability"},
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Maspo:
    """MASPO (arXiv:2602.17550): a one-sided Gaussian gate, wider for rare tokens and for large advantages.

    C = ratio * F. F is 1 on the harmless side, else exp(-(ratio - 1)**2 / (2 sigma**2)); it has no gradient, following
    a transcription of the paper. Neutral with `sigma` infinite.
    """

    sigma: float = 1.0
    """The gate's width for a token of probability 1."""
    rarity: float = 0.3
    """alpha: the width grows with probability ** -alpha."""
    positive: float = 0.03
    """beta: how much a positive advantage widens the gate."""
    negative: float = 0.03
    """beta: how much a negative advantage narrows the gate."""

    def __post_init__(self) -> None:
        if self.sigma <= 0:
            raise ValueError(f"sigma={self.sigma}: a gate's width is above 0; give inf for no gate")

    def gate(self, ratio_N: Tensor, anchor_N: Tensor, advantage_N: Tensor) -> Tensor:
        """F of each token."""
        widened_N = (1 + self.positive * advantage_N).clamp(*_FACTOR)
        narrowed_N = 1 / (1 - self.negative * advantage_N).clamp(*_FACTOR)
        factor_N = torch.where(advantage_N > 0, widened_N, narrowed_N)
        sigma_N = self.sigma * (-self.rarity * anchor_N).exp() * factor_N
        if not math.isinf(self.sigma):
            sigma_N = sigma_N.clamp_max(_WIDEST)
        harmful_N = ((advantage_N > 0) & (ratio_N > 1)) | ((advantage_N < 0) & (ratio_N < 1))
        return torch.where(harmful_N, (-0.5 * ((ratio_N - 1) / sigma_N).square()).exp(), 1.0)

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        ratio_N = surrogate.log_ratio_N.exp()
        gate_N = self.gate(ratio_N.detach(), surrogate.anchor_N, surrogate.advantage_N)
        return -gate_N * ratio_N * surrogate.advantage_N


_FACTOR = (0.1, 10.0)
_WIDEST = 10.0


@part(
    "trust",
    "vespo",
    formula="C = exp(rate + shape log W - rate W)",
    sources=("arXiv:2602.10693", "github.com/FloyedShen/VESPO"),
    confidence="code",
    neutral={"positive": (0.0, 0.0), "negative": (0.0, 0.0)},
    needs={"ratio.granularity=product": "its kernel is of whole sequences, without normalisation by length"},
    conflicts={"correction/*": "its kernel on W is the correction, and weighing it again would count it twice"},
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Vespo:
    """VESPO (arXiv:2602.10693): a kernel on the ratio of whole sequences, not normalised by length.

    C = exp(rate + shape * log W - rate * W), W the product of a sequence's ratios; its maximum is at W = shape / rate.
    The ratio must have the granularity `product`, and the advantage must be constant within a sequence. Neutral, as
    REINFORCE, with shape and rate 0; with shape 1 and rate 0 it is sequence importance sampling.
    """

    positive: tuple[float, float] = (2.0, 3.0)
    """Shape and rate if the advantage is not negative."""
    negative: tuple[float, float] = (3.0, 2.0)
    """Shape and rate if the advantage is negative."""

    def __post_init__(self) -> None:
        for shape, rate in (self.positive, self.negative):
            if shape < 0 or rate < 0:
                raise ValueError(f"shape {shape}, rate {rate}: a kernel's are not negative; give 0, 0 for none")

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        log_N, advantage_N = surrogate.log_ratio_N.detach(), surrogate.advantage_N
        good_N, bad_N = (
            (rate + shape * log_N - rate * log_N.exp()).exp() for shape, rate in (self.positive, self.negative)
        )
        return -torch.where(advantage_N >= 0, good_N, bad_N) * advantage_N * surrogate.logp_N


@part(
    "trust",
    "square",
    formula="C A = A - beta log r",
    sources=("arXiv:2405.19107", "arXiv:2501.12599"),
    confidence="code",
    neutral={"beta": 0.0},
    pulls=True,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class SquarePenalty:
    """A quadratic penalty towards the anchor instead of a clip (DRO, arXiv:2405.19107; Kimi k1.5, arXiv:2501.12599).

    C A = A - beta * log ratio, so that the token's best log-ratio is A / beta. Neutral, as REINFORCE, with beta 0.
    """

    beta: float = 0.1
    """The strength of the penalty; the default is ours."""

    def __post_init__(self) -> None:
        if self.beta < 0:
            raise ValueError(f"beta={self.beta}: below 0 it would push off the anchor; give 0 for no pull")

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        return self.beta / 2 * surrogate.log_ratio_N.square() - surrogate.advantage_N * surrogate.logp_N
