"""What of a batch is trained on, and what it was paid: before anything is compared. Axes: U turns, R trajectories."""

from dataclasses import replace

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import COLUMNS, BuiltObjective
from palaestra.trainers.objectives.rewards import RewardUnit
from palaestra.trainers.objectives.segments import sum_over


def filter_trajectories(batch: TokenBatch, built: BuiltObjective) -> TokenBatch:
    """The trajectories that every filter keeps.

    Filters see what the world paid: a penalty would make groups differ that taught nothing.
    """
    for keeps in built.filters:
        batch = batch.select(keeps(batch).nonzero()[:, 0].tolist())
    return batch


def reshape_rewards(batch: TokenBatch, built: BuiltObjective) -> TokenBatch:
    """The trajectories as the parts for rewards would have them paid; the columns that those read are there.

    Columns that are returns of other rollouts follow a change of the unit.
    """
    for reward in built.rewards:
        reward_U = reward(batch)
        return_R = sum_over(reward_U, batch.trajectory_U, batch.trajectories)
        batch = replace(batch, reward_U=reward_U, return_R=return_R)
        if isinstance(reward, RewardUnit):
            batch = batch.with_columns(
                {name: values / reward.size for name, values in batch.columns.items() if _is_return(name)}
            )
    return batch


def _is_return(name: str) -> bool:
    return name in COLUMNS and COLUMNS[name].is_return
