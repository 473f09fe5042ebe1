"""A trust region for tokens that an expert wrote. Axes: N trained tokens."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.trust.region import Surrogate


@part(
    "trust",
    "luffy",
    formula="C = r; of an expert's tokens p gamma / (p + gamma)^2",
    sources=("arXiv:2504.14945", "github.com/ElliottYan/LUFFY"),
    confidence="code",
    requires=("expert_T",),
    reinforce=False,
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Luffy:
    """LUFFY (arXiv:2504.14945): the plain ratio for the policy's own tokens, a shaped probability for an expert's.

    C = ratio where `expert_T` is 0. Where it is 1, the loss is -A p / (p + gamma), as if the expert had been certain of
    every token. Then C = p gamma / (p + gamma)^2, with its maximum of 1/4 at p = gamma, so that rare tokens are learnt
    too. Without an expert it is `UnclippedRatio`.
    """

    gamma: float = 0.1
    """The probability at which an expert's token has the largest gradient."""

    def __post_init__(self) -> None:
        if self.gamma <= 0:
            raise ValueError(f"gamma={self.gamma}: at 0 an expert's tokens teach nothing; give a number above 0")

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        shaped_N = (surrogate.logp_N - math.log(self.gamma)).sigmoid()
        expert_N = surrogate.columns["expert_T"] != 0
        # Selected before exp: the ratio to an expert's log-probabilities is meaningless and may have any value.
        ratio_N = torch.where(expert_N, 0.0, surrogate.log_ratio_N).exp()
        return -surrogate.advantage_N * torch.where(expert_N, shaped_N, ratio_N)
