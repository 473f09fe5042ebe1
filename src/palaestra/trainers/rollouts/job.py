"""One trajectory to be played."""

from typing import Literal, TypeAlias

from palaestra.record import record
from palaestra.trainers.data.prefix import SharedPrefix

Purpose: TypeAlias = Literal["training", "greedy", "idle", "rephrase"]
"""The purpose of a trajectory: to be trained on; to be compared with, played with the likeliest token everywhere or
without any turn; or to replace another of its group, played by a policy that reads a solution of the task."""


@record
class RolloutJob:
    """A task to be played once."""

    trajectory: str
    """The id of the resulting trajectory, unique within its run."""
    group: str
    """The id of the group; its trajectories are compared with each other."""
    task: str
    """The task's id."""
    seed: int
    """The seed of the episode's world: its user and its noise."""
    noise: bytes
    """The key of the policy's choices; see `engines.noise`."""
    purpose: Purpose = "training"
    prefix: SharedPrefix | None = None
    """The prefix that the trajectory continues, of the same task and seed; `None` if it begins at the first turn."""
