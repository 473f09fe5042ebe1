"""Which tokens of a batch have to go through the model at all: those before the last trained token of their segment.

Axes: T tokens, S segments, K tokens that are needed.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededTokens:
    """The tokens that are needed, in the batch's order: of each segment a run from its beginning."""

    token_K: Tensor
    """Which tokens of the batch they are."""
    length_S: Tensor
    """How many each segment has; none where nothing of it is trained."""
    before_T: Tensor
    """For each token of the batch the place in K of the one before it; any place where that is not needed."""


def needed_lengths(batch: TokenBatch) -> Tensor:
    """How many tokens of each segment are needed, [S]."""
    last_T = torch.where(batch.trained_T, batch.position_T, 0)  # a token's position is the number of those before it
    length_S = torch.zeros_like(batch.trajectory_S).scatter_reduce(0, batch.segment_T, last_T, "amax")
    if not bool(length_S.any()):
        length_S[:1] = 1  # a pass without a token would leave `before_T` nothing to point to
    return length_S


def find_needed_tokens(batch: TokenBatch) -> NeededTokens:
    """What has to go through the model; one token at least, even where nothing is trained."""
    length_S = needed_lengths(batch)
    needed_T = batch.position_T < length_S[batch.segment_T]
    behind_T = needed_T.cumsum(0) - 1
    before_T = torch.cat((behind_T[:1], behind_T[:-1])).clamp_min(0)
    return NeededTokens(token_K=needed_T.nonzero()[:, 0], length_S=length_S, before_T=before_T)
