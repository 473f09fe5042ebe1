"""A step's whole trajectories and its continuations as two credit streams (DEEP-GRPO, arXiv:2602.14169).

The continuations of each fork form their own group, and all continuations form a stream apart from whole trajectories.
Comparisons, normalisation and means stay within a stream, since the many continuations would dominate a common mean.

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
    """The factor on the stream's loss."""


def add_branches(batch: TokenBatch, branches: TokenBatch, *, weight: float) -> TokenBatch:
    """A batch with the whole trajectories of a step, followed by its continuations.

    Args:
        batch: Whole trajectories.
        branches: Continuations, with the same columns; their groups stay different from those of `batch`.
        weight: The factor on the loss of the continuations; above 0.
    """
    assert weight > 0, f"weight={weight}: 0 marks whole trajectories"
    marked = [
        part.with_columns({BRANCH: torch.full_like(part.return_R, value)})
        for part, value in ((batch, 0.0), (branches, weight))
    ]
    return concatenate(marked)


def branch_places(batch: TokenBatch) -> list[int]:
    """The indices of the trajectories that are continuations; none if the batch never got continuations."""
    if BRANCH not in batch.columns:
        return []
    places: list[int] = (batch.column(BRANCH) != 0).nonzero()[:, 0].tolist()
    return places


def split_streams(batch: TokenBatch) -> list[CreditStream]:
    """The non-empty streams of a batch: whole trajectories first.

    A batch without continuations is returned unchanged, as its only stream.
    """
    places = branch_places(batch)
    if not places:
        return [CreditStream(batch=batch, weight=1.0)]
    weight = float(batch.column(BRANCH)[places[0]])
    branches = CreditStream(batch=batch.select(places), weight=weight)
    others = sorted(set(range(batch.trajectories)).difference(places))
    return [CreditStream(batch=batch.select(others), weight=1.0), branches] if others else [branches]


def join_streams(batches: Sequence[TokenBatch]) -> TokenBatch:
    """The trajectories of all streams of a step, concatenated; a single stream is returned unchanged."""
    return batches[0] if len(batches) == 1 else concatenate(batches)
