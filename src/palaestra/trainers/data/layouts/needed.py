"""The tokens of a batch that the model must process: those before the last trained token of their segment.

Axes: T tokens, S segments, K needed tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededTokens:
    """The needed tokens, in the batch's order: for each segment, a run from its beginning."""

    token_K: Tensor
    """The indices of the tokens in the batch."""
    length_S: Tensor
    """The number of needed tokens in each segment; 0 if nothing of it is trained."""
    before_T: Tensor
    """For each token of the batch, the place in K of the token before it; an arbitrary place if that is not needed."""


def needed_lengths(batch: TokenBatch) -> Tensor:
    """The number of needed tokens in each segment, [S]."""
    last_T = torch.where(batch.trained_T, batch.position_T, 0)  # a token's position is the number of tokens before it
    length_S = torch.zeros_like(batch.trajectory_S).scatter_reduce(0, batch.segment_T, last_T, "amax")
    if not bool(length_S.any()):
        length_S[:1] = 1  # without any token, `before_T` would have no valid index
    return length_S


def find_needed_tokens(batch: TokenBatch) -> NeededTokens:
    """The tokens that the model must process; at least one, even if nothing is trained."""
    length_S = needed_lengths(batch)
    needed_T = batch.position_T < length_S[batch.segment_T]
    behind_T = needed_T.cumsum(0) - 1
    before_T = torch.cat((behind_T[:1], behind_T[:-1])).clamp_min(0)
    return NeededTokens(token_K=needed_T.nonzero()[:, 0], length_S=length_S, before_T=before_T)
