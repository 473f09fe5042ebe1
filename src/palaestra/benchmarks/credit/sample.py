"""The sample of one task: near-exact advantages, and the trajectories that groups are formed from.

A group that contains turn t of the reference episode has one member that shares the reference's turns up to and
including t and then continues by itself. The other members are companions that start from the beginning. Both are
sampled anew for every group. So the bias and the variance of an estimate are those given the state and the action, over
everything that happens afterwards.

Axes: T tokens, R trajectories.
"""

from dataclasses import dataclass, fields, replace

import torch

from palaestra.benchmarks.credit.near_exact import TurnAdvantages
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.limits import check_at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditDesign:
    """Numbers of groups and continuations.

    Raises:
        ValueError: a number is below its minimum.
    """

    group_size: int = 8
    """Members of a group, including the member with the scored turn."""
    groups: int = 6
    """Sets of companions per task, and continuations per turn; each continuation is grouped with two of the sets."""
    continuations: int = 16
    """Continuations from each state for its near-exact value; they belong to no group."""

    def __post_init__(self) -> None:
        check_at_least(2, group_size=self.group_size, groups=self.groups, continuations=self.continuations)

    @property
    def companions(self) -> int:
        """Number of trajectories from the beginning that a task's groups need."""
        return self.groups * (self.group_size - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSample:
    """The reference episode of one task, and the trajectories that its groups are formed from."""

    task: str
    family: str
    exact: TurnAdvantages
    """Near-exact advantages of the reference's turns."""
    batch: TokenBatch
    """Whole trajectories: first the companions, set by set; then the reference; then, for each of its turns except the
    last, `groups` trajectories that share its turns up to that turn."""

    @property
    def turns(self) -> int:
        """Number of turns of the reference."""
        return len(self.exact.advantages)

    def companions(self, group: int, design: CreditDesign) -> list[int]:
        """The places of a set of companions."""
        first = group * (design.group_size - 1)
        return list(range(first, first + design.group_size - 1))

    def member(self, turn: int, continuation: int, design: CreditDesign) -> int:
        """The place of a trajectory that contains a turn of the reference.

        Nothing follows the last turn, so all its trajectories are the reference itself.
        """
        reference = design.companions
        return reference if turn == self.turns - 1 else reference + 1 + turn * design.groups + continuation

    def trajectories(self, design: CreditDesign) -> int:
        """Number of trajectories in `batch`."""
        return design.companions + 1 + (self.turns - 1) * design.groups


def trained_tokens(batch: TokenBatch) -> TokenBatch:
    """Remove tokens that are not trained on: advantages do not read them.

    Columns of tokens are reduced in the same way. Positions stay those in the whole segment.
    """
    own_T = batch.trained_T
    tokens = {one.name: getattr(batch, one.name)[own_T] for one in fields(batch) if one.name.endswith("_T")}
    columns = {
        name: value[own_T] if name.rpartition("_")[2].startswith("T") else value
        for name, value in batch.columns.items()
    }
    return replace(batch, **tokens, columns=columns)


def one_group(batch: TokenBatch) -> TokenBatch:
    """Put all trajectories of the batch into one group."""
    return replace(batch, group_R=torch.zeros_like(batch.group_R))
