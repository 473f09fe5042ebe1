"""Where trajectories left another one."""

from typing import Literal, TypeAlias

from palaestra.record import record

PivotRule: TypeAlias = Literal["best", "recoverable", "naming"]
"""How the turn was found; see `branching.BranchingConfig`."""


@record
class Fork:
    """The turn of a trajectory that others go on from."""

    rule: PivotRule
    parent: str
    """The id of the trajectory."""
    turns: int
    """Behind so many turns of it."""
    ratio: float
    """Their share of its turns, above 0 and below 1."""
