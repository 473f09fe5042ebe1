"""Filters and rewards of a batch, applied before trajectories are compared. Axes: U turns, R trajectories."""

from dataclasses import replace

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import BuiltObjective
from palaestra.trainers.objectives.segments import sum_over


def filter_trajectories(batch: TokenBatch, built: BuiltObjective) -> TokenBatch:
    """The trajectories that every filter keeps.

    Filters see the world's rewards, in the objective's unit: with a penalty, groups without information would differ.
    """
    for keeps in built.filters:
        batch = batch.select(keeps(built.convert(batch)).nonzero()[:, 0].tolist())
    return batch


def reshape_rewards(batch: TokenBatch, built: BuiltObjective) -> TokenBatch:
    """The trajectories with the rewards that the objective's reward parts compute.

    Rewards are converted to the objective's unit first, so that this happens once. The batch must have the columns that
    the parts read, those of passes included.
    """
    batch = built.convert(batch)
    for reward in built.rewards:
        reward_U = reward(batch)
        return_R = sum_over(reward_U, batch.trajectory_U, batch.trajectories)
        batch = replace(batch, reward_U=reward_U, return_R=return_R)
    return batch
