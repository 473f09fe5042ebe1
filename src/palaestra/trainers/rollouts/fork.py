"""Forks: the turns after which further trajectories continue."""

from typing import Literal, TypeAlias

from palaestra.record import record

PivotRule: TypeAlias = Literal["best", "recoverable", "naming"]
"""The rule that chose the turn; see `branching.BranchingConfig`."""


@record
class Fork:
    """A turn of a trajectory from which others continue."""

    rule: PivotRule
    parent: str
    """The id of the trajectory."""
    turns: int
    """The number of turns before the fork."""
    ratio: float
    """The share of these turns in all turns of the trajectory, above 0 and below 1."""
