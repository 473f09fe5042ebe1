"""The ratio of sampled tokens' probabilities: trained weights over an anchor. Axes: N trained tokens."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch

Anchor: TypeAlias = Literal["rollout", "old", "none"]
"""The weights that sampled the tokens, the weights before the batch's first step, or the trained weights themselves."""
Granularity: TypeAlias = Literal["token", "turn", "sequence", "product"]
"""A token's ratio; the geometric mean over its turn or its trajectory; or the product over the trajectory."""

_MOST = 20.0
_MOST_OF_MEANS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioConfig:
    """The ratio that a trust region uses.

    Ratios of more than a token are those of GSPO-token (arXiv:2507.18071, section 4.3): log s = sg[log s] + logp -
    sg[logp]. The value at every token is that of the sequence, and the gradient is the token's own, so advantages may
    differ between tokens. With one advantage per sequence, and the mean over its tokens, it is GSPO.
    """

    anchor: Anchor = "rollout"
    granularity: Granularity = "token"

    def requires(self) -> frozenset[str]:
        """The columns that it reads."""
        return frozenset({"old_T"} if self.anchor == "old" else ())

    def anchor_logp(self, logp_T: Tensor, batch: TokenBatch) -> Tensor:
        """Log-probabilities under the anchor, without gradient, [T]; only those of trained tokens are used."""
        match self.anchor:
            case "rollout":
                return batch.logprob_T.detach()
            case "old":
                return batch.column("old_T").detach()
            case "none":
                return logp_T.detach()

    def log_ratio(self, logp_N: Tensor, anchor_N: Tensor, batch: TokenBatch) -> Tensor:
        """The logarithm of each trained token's ratio, within +-20 (means: at most 10), [N]; gradients flow.

        Args:
            logp_N: Log-probability of each trained token under the trained weights.
            anchor_N: The same under the anchor.
            batch: Whole trajectories with these trained tokens.
        """
        off_N = (logp_N - anchor_N).clamp(-_MOST, _MOST)
        if self.granularity == "token":
            return off_N
        own_T = batch.trained_T
        place_N = (batch.turn_T if self.granularity == "turn" else batch.trajectory_T)[own_T]
        places = len(batch.reward_U) if self.granularity == "turn" else batch.trajectories
        value_N = off_N.detach()
        whole = value_N.new_zeros(places).index_add(0, place_N, value_N)
        if self.granularity != "product":
            count = value_N.new_zeros(places).index_add(0, place_N, torch.ones_like(value_N))
            whole = (whole / count.clamp_min(1)).clamp_max(_MOST_OF_MEANS)
        return whole.clamp(-_MOST, _MOST)[place_N] + (logp_N - logp_N.detach())
