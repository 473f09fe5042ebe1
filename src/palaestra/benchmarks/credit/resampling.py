"""Estimates of the same turns in many groups. Axes: N turns, G continuations, W groups of each, T tokens."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from palaestra.benchmarks.credit.sample import CreditDesign, TaskSample
from palaestra.trainers.data.batch import TokenBatch, concatenate
from palaestra.trainers.objectives.segments import mean_over

CreditEstimator: TypeAlias = Callable[[TokenBatch], Tensor]
"""Computes the advantage of each token of a batch of whole groups, [T]."""
Estimates: TypeAlias = NDArray[np.float64]
"""[N, G, W]: the estimate for each turn with each of its continuations, in two groups. Continuation k is grouped with
companions k and k + 1, so two estimates share a continuation, a set of companions, or neither."""
WAYS = 2


def resample_estimates(
    samples: Sequence[TaskSample],
    estimators: Mapping[str, CreditEstimator],
    design: CreditDesign,
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Estimates]:
    """Compute each method's estimates for every turn of every reference, in many groups.

    As in a training step, a batch has one group of each task: methods that normalise over the batch see all tasks.
    Where a reference has fewer turns, its group holds the last turn, and the estimate is not used again.

    Args:
        samples: The tasks; all were drawn by `design`.
        estimators: The methods, by name.
        design: Numbers of groups and continuations.
        progress: Receives the number of the turn after each batch.

    Returns:
        For each method an array [N, G, W]; turns are in the order of samples, and of turns within a sample. The
        estimate of a turn is the mean over its trained tokens.
    """
    whole = concatenate([sample.batch for sample in samples])
    trajectories = [sample.trajectories(design) for sample in samples]
    first = np.concatenate([[0], np.cumsum(trajectories)[:-1]]).tolist()
    begins = np.concatenate([[0], np.cumsum([sample.turns for sample in samples])[:-1]]).tolist()
    turns = sum(sample.turns for sample in samples)
    found = {name: np.zeros((turns, design.groups, WAYS)) for name in estimators}
    for turn in range(max(sample.turns for sample in samples)):
        for continuation in range(design.groups):
            for way in range(WAYS):
                group = (continuation + way) % design.groups
                chosen = [
                    start + place
                    for start, sample in zip(first, samples, strict=True)
                    for place in (
                        sample.member(min(turn, sample.turns - 1), continuation, design),
                        *sample.companions(group, design),
                    )
                ]
                batch = whole.select(chosen)
                read = [place for place, sample in enumerate(samples) if turn < sample.turns]
                at_N = [begins[place] + turn for place in read]
                turn_N = _turns_of(batch, [place * design.group_size for place in read], turn)
                for name, estimate in estimators.items():
                    found[name][at_N, continuation, way] = _turn_means(estimate(batch), batch)[turn_N].numpy()
                progress(f"turn {turn + 1}")
    return found


def _turns_of(batch: TokenBatch, trajectories: Sequence[int], turn: int) -> Tensor:
    """The indices of one turn of several trajectories among all turns."""
    count_R = torch.bincount(batch.trajectory_U, minlength=batch.trajectories)
    first_R = count_R.cumsum(0) - count_R
    return first_R[list(trajectories)] + turn


def _turn_means(advantage_T: Tensor, batch: TokenBatch) -> Tensor:
    """The mean advantage of each turn's trained tokens, [U]."""
    own_T = batch.trained_T
    return mean_over(advantage_T[own_T].double(), batch.turn_T[own_T], len(batch.reward_U))
