"""What one task gives the thermometer: near-exact advantages, and the trajectories that groups are drawn from.

A group that contains turn t of the reference episode has one member that shares the reference's turns up to and
including t and then goes on by itself, and companions from the beginning. Both are drawn anew for every group, so the
bias and the variance of an estimate are those given the state and the action, whatever happens afterwards.

Axes: T tokens, R trajectories.
"""

from dataclasses import dataclass, fields, replace

import torch

from palaestra.benchmarks.credit.near_exact import TurnAdvantages
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.limits import check_at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditDesign:
    """How often everything is drawn anew.

    Raises:
        ValueError: a number is below what it may be.
    """

    group_size: int = 8
    """Members of a group, the one with the scored turn included."""
    groups: int = 6
    """Sets of companions of each task, and own continuations of each turn; each continuation meets two of the sets."""
    continuations: int = 16
    """From each state, for its near-exact value; no group has any of them."""

    def __post_init__(self) -> None:
        check_at_least(2, group_size=self.group_size, groups=self.groups, continuations=self.continuations)

    @property
    def companions(self) -> int:
        """Trajectories from the beginning that a task's groups take."""
        return self.groups * (self.group_size - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSample:
    """One task's reference episode, and what its groups are drawn from."""

    task: str
    family: str
    exact: TurnAdvantages
    """Of the reference's turns."""
    batch: TokenBatch
    """Whole trajectories: first the companions, set by set; then the reference; then, for each of its turns but the
    last, `groups` trajectories that share its turns up to that one."""

    @property
    def turns(self) -> int:
        """Of the reference."""
        return len(self.exact.advantages)

    def companions(self, group: int, design: CreditDesign) -> list[int]:
        """The places of a set of companions."""
        first = group * (design.group_size - 1)
        return list(range(first, first + design.group_size - 1))

    def member(self, turn: int, continuation: int, design: CreditDesign) -> int:
        """The place of a trajectory that holds a turn of the reference.

        Nothing follows the last turn, so all its trajectories are the reference itself.
        """
        reference = design.companions
        return reference if turn == self.turns - 1 else reference + 1 + turn * design.groups + continuation

    def trajectories(self, design: CreditDesign) -> int:
        """How many trajectories `batch` holds."""
        return design.companions + 1 + (self.turns - 1) * design.groups


def trained_tokens(batch: TokenBatch) -> TokenBatch:
    """The batch without the tokens that nothing is trained on: advantages do not read them.

    Columns of tokens go with their tokens. Positions stay those in the whole segment.
    """
    own_T = batch.trained_T
    tokens = {one.name: getattr(batch, one.name)[own_T] for one in fields(batch) if one.name.endswith("_T")}
    columns = {
        name: value[own_T] if name.rpartition("_")[2].startswith("T") else value
        for name, value in batch.columns.items()
    }
    return replace(batch, **tokens, columns=columns)


def one_group(batch: TokenBatch) -> TokenBatch:
    """The batch with all trajectories in one group."""
    return replace(batch, group_R=torch.zeros_like(batch.group_R))
