"""Losses that limit the distance of a policy from a reference, or from the anchor. Axes: N trained tokens."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from torch import Tensor

from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.trust.region import Surrogate

Estimator: TypeAlias = Literal["k1", "k2", "k3", "k3-plus", "k3-is"]
"""Estimators of KL(policy || reference) from one sample."""
_MOST = 20.0


def _check(coefficient: float, what: str) -> None:
    if coefficient < 0:
        raise ValueError(f"coefficient={coefficient}: below 0 it would {what}; leave the part out for none")


@part(
    "regulariser",
    "kl",
    formula="coefficient k; k1 = d, k2 = d^2 / 2, k3 = e^-d + d - 1, k3-plus: k3 with the gradient of k2, k3-is = r k3",
    sources=("arXiv:2402.03300", "Schulman 2020", "github.com/volcengine/verl"),
    confidence="code",
    requires=("ref_T",),
    neutral={"estimator": "k3", "coefficient": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Kl:
    """The distance from a reference policy, by token.

    With d = logp - ref, for tokens that the policy sampled itself:

    - `k1`, d: its expected gradient is 0, so that it has no effect; its value is the divergence.
    - `k2`, d^2 / 2: the gradient of KL(policy || reference).
    - `k3`, e^-d + d - 1: that of GRPO. Its value is the divergence, its gradient that of KL(reference || policy).
    - `k3-plus`: the value of k3 and the gradient of k2.
    - `k3-is`, ratio * k3: the gradient of KL(policy || reference), also for tokens that another policy sampled
    (DeepSeek-V3.2,
      arXiv:2512.02556).

    Neutral with `coefficient` 0.
    """

    estimator: Estimator
    """The estimator; there is no default, because none is right for all uses."""
    coefficient: float
    """The coefficient: 0.04 in GRPO's paper; DAPO and most later recipes have no such part."""
    most: float = 10.0
    """The maximum of k3; a token beyond it has no gradient."""

    def __post_init__(self) -> None:
        _check(self.coefficient, "drive the policy away from the reference")
        if self.most <= 0:
            raise ValueError(f"most={self.most}: k3 is nowhere below 0; give a number above 0, or inf for no bound")

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `Regulariser`."""
        log_ratio_N = (surrogate.logp_N - surrogate.anchor_N).clamp(-_MOST, _MOST)
        off_N = surrogate.logp_N - surrogate.columns["ref_T"]
        return self.coefficient * divergence(off_N, log_ratio_N, self.estimator, most=self.most)


def divergence(off_N: Tensor, log_ratio_N: Tensor, estimator: Estimator, *, most: float = math.inf) -> Tensor:
    """An estimate of KL(policy || reference) at each token, [N].

    Args:
        off_N: logp - ref.
        log_ratio_N: logp minus that of the policy that sampled the token; only `k3-is` reads it.
        estimator: The estimator.
        most: The maximum of k3.
    """
    if estimator == "k1":
        return off_N
    half_square_N = off_N.square() / 2
    if estimator == "k2":
        return half_square_N
    near_N = off_N.clamp(-_MOST, _MOST)
    third_N = ((-near_N).exp() + near_N - 1).clamp_max(most)
    match estimator:
        case "k3":
            return third_N
        case "k3-plus":
            return third_N.detach() + half_square_N - half_square_N.detach()
        case "k3-is":
            return log_ratio_N.exp() * third_N


@part(
    "regulariser",
    "move",
    formula="coefficient (logp - anchor)^2",
    sources=("github.com/PrimeIntellect-ai/prime-rl",),
    confidence="code",
    neutral={"coefficient": 0.0},
    conflicts={"ratio.anchor=none": "there is nothing to have moved from"},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class MovePenalty:
    """The squared distance of each token from the ratio's anchor, in addition to a trust region by probabilities.

    Neutral with `coefficient` 0.
    """

    coefficient: float = 1e-3
    """The coefficient."""

    def __post_init__(self) -> None:
        _check(self.coefficient, "reward moving")

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `Regulariser`."""
        return self.coefficient * (surrogate.logp_N - surrogate.anchor_N).clamp(-_MOST, _MOST).square()
