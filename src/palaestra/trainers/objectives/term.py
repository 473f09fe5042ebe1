"""Losses in addition to the main one, each with its own mean over tokens. Axes: T tokens, N trained tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.parts import Regulariser, TokenPool
from palaestra.trainers.objectives.trust.region import Surrogate


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A regulariser and the aggregation of its tokens."""

    regulariser: Regulariser
    aggregation: Aggregation | None = None
    """Default: the objective's aggregation."""


def term_weights(
    terms: Sequence[Term], batch: TokenBatch, counted_T: Tensor, *, otherwise: Aggregation
) -> dict[str, Tensor]:
    """The weight of each token in each term, as columns of the batch.

    Args:
        terms: The terms.
        batch: The whole step.
        counted_T: The tokens that may count.
        otherwise: The aggregation of terms without their own.
    """
    found: dict[str, Tensor] = {}
    for number, term in enumerate(terms):
        pool_T = counted_T
        if isinstance(term.regulariser, TokenPool):
            pool_T = counted_T & term.regulariser.pool(batch)
        found[_column(number)] = (term.aggregation or otherwise).weights(batch, pool_T)
    return found


def term_losses(terms: Sequence[Term], surrogate: Surrogate, batch: TokenBatch) -> Tensor:
    """The share of these tokens in the sum of all terms.

    Args:
        terms: The terms.
        surrogate: All trained tokens of `batch`.
        batch: The batch, with the columns of `term_weights`.
    """
    loss = torch.zeros((), dtype=surrogate.logp_N.dtype, device=surrogate.logp_N.device)
    for number, term in enumerate(terms):
        weight_N = batch.column(_column(number))[batch.trained_T]
        used_N = weight_N != 0
        loss = loss + (weight_N[used_N] * term.regulariser(surrogate.at(used_N))).sum()
    return loss


def _column(number: int) -> str:
    return f"term{number}_T"
