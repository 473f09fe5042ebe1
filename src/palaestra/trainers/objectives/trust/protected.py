"""A trust region that protects unlikely but reasonable tokens. Axes: T tokens, N trained tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.quantile import quantile
from palaestra.trainers.objectives.trust.clipped import Clip
from palaestra.trainers.objectives.trust.region import Surrogate

_CHOSEN = "lp_reg_T"
_MOST = 20.0


@part(
    "trust",
    "lp-reg",
    formula="clip(low 1, high 9) + beta k3, k3 = e^u - u - 1, u = log proxy - logp, where A < 0, p least and p < proxy",
    sources=("arXiv:2510.03222", "github.com/CarlanLark/Lp-Reg-dev"),
    confidence="code",
    requires=("proxy_T", "now_T"),
    neutral={"beta": 0.0},
    needs={"ratio.granularity=token": "it is about single tokens, and its clip is of their ratios"},
    reinforce=False,
    pulls=False,
)
@dataclass(frozen=True, slots=True, kw_only=True)
class LpReg:
    """Lp-Reg (arXiv:2510.03222): a wide clip, and a regularisation that protects reasonable tokens of low probability.

    The proxy is the old distribution without its least likely tokens, normalised again (`proxy_T`). The loss pulls a
    token towards it if its advantage is negative, its probability is below the `share`-quantile of the step, and its
    probability under the proxy is higher than under the policy; tokens that the proxy lacks are never pulled. The term
    is k3 = exp(u) - u - 1, u = log proxy - logp, whose expected gradient is that of KL(proxy || policy). The tokens are
    selected once for the whole step; the authors' code does so for each micro-batch. Neutral, as `Clip(low=1, high=9)`,
    with `beta` 0.
    """

    beta: float = 1.0
    """The coefficient of the term."""
    share: float = 0.01
    """The share of tokens that count as unlikely; 0.005 for the paper's largest model."""
    pool: Literal["all", "negative"] = "all"
    """The tokens of the quantile: all trained tokens, as in the paper, or those with a negative advantage, as in the
    authors' code."""
    low: float = 1.0
    """How far below 1 the ratio may fall before a loss is clipped."""
    high: float = 9.0
    """How far above 1 the ratio may rise before a gain is clipped."""

    def __post_init__(self) -> None:
        if self.beta < 0:
            raise ValueError(f"beta={self.beta}: below 0 it would push tokens away from the proxy; give 0 for none")
        if not 0 <= self.share <= 1:
            raise ValueError(f"share={self.share}: a share of the tokens is from 0 to 1")
        Clip(low=self.low, high=self.high)

    def columns(self, batch: TokenBatch) -> Mapping[str, Tensor]:
        """See `StepColumns`: the selected tokens."""
        own_T = batch.trained_T
        now_T = batch.column("now_T")
        punished_T = own_T & (batch.advantage_T < 0)
        rare = quantile(now_T[own_T if self.pool == "all" else punished_T], self.share)
        return {_CHOSEN: punished_T & (now_T < rare) & (now_T < batch.column("proxy_T"))}

    def __call__(self, surrogate: Surrogate, /) -> Tensor:
        """See `TrustRegion`."""
        loss_N = Clip(low=self.low, high=self.high)(surrogate)
        chosen_N = surrogate.columns[_CHOSEN].bool()
        # Minus infinity of the proxy must not enter any arithmetic, even if the result is discarded.
        off_N = torch.where(chosen_N, surrogate.columns["proxy_T"] - surrogate.logp_N, 0.0).clamp(-_MOST, _MOST)
        return loss_N + self.beta * (off_N.exp() - off_N - 1)

    def silenced_tokens(self, surrogate: Surrogate) -> Tensor:
        """Which tokens have no gradient although they have an advantage."""
        return Clip(low=self.low, high=self.high).silenced_tokens(surrogate)
