"""A step's whole trajectories and its continuations as two streams of credit (DEEP-GRPO, arXiv:2602.14169).

The continuations of a fork are a group of their own, and all of them are a stream beside that of whole trajectories.
Comparisons, normalisation and means stay within one stream: the many continuations would decide a common mean.

Axes: T tokens, R trajectories.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from palaestra.trainers.data.batch import TokenBatch, concatenate

BRANCH = "branch_R"
"""The column of `add_branches`: the factor on a continuation's loss; 0 for a whole trajectory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditStream:
    """Trajectories of a step whose advantages and means are computed without the others."""

    batch: TokenBatch
    weight: float
    """Factor on its loss."""


def add_branches(batch: TokenBatch, branches: TokenBatch, *, weight: float) -> TokenBatch:
    """The whole trajectories of a step, and behind them its continuations.

    Args:
        batch: Whole trajectories.
        branches: Continuations, with the same columns; their groups stay different from those of `batch`.
        weight: Factor on the loss of the continuations; above 0.
    """
    assert weight > 0, f"weight={weight}: 0 marks whole trajectories"
    marked = [
        part.with_columns({BRANCH: torch.full_like(part.return_R, value)})
        for part, value in ((batch, 0.0), (branches, weight))
    ]
    return concatenate(marked)


def branch_places(batch: TokenBatch) -> list[int]:
    """The places of continuations among the trajectories; none where a batch was never given any."""
    if BRANCH not in batch.columns:
        return []
    places: list[int] = (batch.column(BRANCH) != 0).nonzero()[:, 0].tolist()
    return places


def split_streams(batch: TokenBatch) -> list[CreditStream]:
    """The streams of a batch that have any trajectory: whole ones first.

    A batch without continuations is its only stream, as it stands.
    """
    places = branch_places(batch)
    if not places:
        return [CreditStream(batch=batch, weight=1.0)]
    weight = float(batch.column(BRANCH)[places[0]])
    branches = CreditStream(batch=batch.select(places), weight=weight)
    others = sorted(set(range(batch.trajectories)).difference(places))
    return [CreditStream(batch=batch.select(others), weight=1.0), branches] if others else [branches]


def join_streams(batches: Sequence[TokenBatch]) -> TokenBatch:
    """The trajectories of all streams of a step, one stream behind the other; of one stream, as it stands."""
    return batches[0] if len(batches) == 1 else concatenate(batches)
