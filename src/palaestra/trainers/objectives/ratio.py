"""The probability of sampled tokens under the trained weights, over that under an anchor. Axes: N trained tokens."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch

Anchor: TypeAlias = Literal["rollout", "old", "none"]
"""The weights that drew the tokens, those that the batch's first step began with, or the trained ones themselves."""
Granularity: TypeAlias = Literal["token", "turn", "sequence", "product"]
"""A token's ratio; the geometric mean over its turn's or its trajectory's tokens; their product over the trajectory."""

_MOST = 20.0
_MOST_OF_MEANS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioConfig:
    """The ratio that a trust region uses.

    Ratios of more than a token are GSPO-token's (arXiv:2507.18071, section 4.3): log s = sg[log s] + logp - sg[logp],
    whose value is the sequence's at every token and whose gradient is the token's own, so that advantages may differ
    from token to token. Over a sequence of one advantage, in the mean over its tokens, it is GSPO.
    """

    anchor: Anchor = "rollout"
    granularity: Granularity = "token"

    def requires(self) -> frozenset[str]:
        """The columns it reads."""
        return frozenset({"old_T"} if self.anchor == "old" else ())

    def anchor_logp(self, logp_T: Tensor, batch: TokenBatch) -> Tensor:
        """Log-probabilities under the anchor, without gradient, [T]; read at trained tokens only."""
        match self.anchor:
            case "rollout":
                return batch.logprob_T.detach()
            case "old":
                return batch.column("old_T").detach()
            case "none":
                return logp_T.detach()

    def log_ratio(self, logp_N: Tensor, anchor_N: Tensor, batch: TokenBatch) -> Tensor:
        """The logarithm of each trained token's ratio, within +-20 (means within 10 above), [N]; gradients flow.

        Args:
            logp_N: Of each trained token under the trained weights.
            anchor_N: And under the anchor.
            batch: Whole trajectories, whose trained tokens these are.
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
