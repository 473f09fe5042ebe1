"""One trajectory that is to come about."""

from typing import Literal, TypeAlias

from palaestra.record import record
from palaestra.trainers.data.prefix import SharedPrefix

Purpose: TypeAlias = Literal["training", "greedy", "idle", "rephrase"]
"""What a trajectory is for: to be trained on; or for trajectories to be compared with, played with the likeliest token
everywhere, or without any turn; or to stand in for one of its group, played by a policy that reads a solution of the
task."""


@record
class RolloutJob:
    """A task to be played, once."""

    trajectory: str
    """The id of what comes of it, unique within its run."""
    group: str
    """Trajectories that are compared with each other have the same."""
    task: str
    """The task's id."""
    seed: int
    """Of the episode's world: its user and its noise."""
    noise: bytes
    """The key of the policy's choices; see `engines.noise`."""
    purpose: Purpose = "training"
    prefix: SharedPrefix | None = None
    """What it goes on from, of the same task and seed; `None` for one that begins at the first turn."""
