"""What of a batch is trained on, and what it was paid: before anything is compared. Axes: U turns, R trajectories."""

from dataclasses import replace

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import BuiltObjective
from palaestra.trainers.objectives.segments import sum_over


def filter_trajectories(batch: TokenBatch, built: BuiltObjective) -> TokenBatch:
    """The trajectories that every filter keeps.

    Filters see what the world paid, in the objective's unit: a penalty would make groups differ that taught nothing.
    """
    for keeps in built.filters:
        batch = batch.select(keeps(built.convert(batch)).nonzero()[:, 0].tolist())
    return batch


def reshape_rewards(batch: TokenBatch, built: BuiltObjective) -> TokenBatch:
    """The trajectories as the parts for rewards would have them paid; the columns that those read are there.

    Everything that is paid is converted first, so that it is done once, and what passes have filled in is there.
    """
    batch = built.convert(batch)
    for reward in built.rewards:
        reward_U = reward(batch)
        return_R = sum_over(reward_U, batch.trajectory_U, batch.trajectories)
        batch = replace(batch, reward_U=reward_U, return_R=return_R)
    return batch
