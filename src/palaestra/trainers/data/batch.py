"""Trajectories flattened into aligned arrays, which objectives read and learners train on.

The tokens of all segments are concatenated without padding; index arrays hold each token's segment and turn. A layout
decides how a model processes them, and changes no number here.

Axes: T tokens, S segments, U turns, R trajectories. Segments, turns and trajectories are in order, so the tokens of
each are contiguous.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn.functional import pad

from palaestra.errors import UnknownNameError

NO_TURN = -1
"""The turn index of a token outside all turns: in a prompt, a tool's answer or a user's message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBatch:
    """Aligned arrays; `segment_T`, `turn_T`, `trajectory_S` and `trajectory_U` are indices into the axis they name."""

    ids_T: Tensor
    """Token ids."""
    position_T: Tensor
    """The position of each token in its segment."""
    trained_T: Tensor
    """Whether each token has a loss: only the policy's own tokens do, and never the first of a segment."""
    logprob_T: Tensor
    """The log-probability of each trained token when it was sampled; 0 elsewhere."""
    version_T: Tensor
    """The version of the weights that sampled each trained token; 0 elsewhere."""
    part_T: Tensor
    """The part of a turn that each token belongs to, as an index into `PARTS`."""
    advantage_T: Tensor
    """How much better than expected the outcome was; 0 for tokens that are not trained. An objective fills it in."""
    weight_T: Tensor
    """The weight of each token's loss in the step; 0 for tokens that are not trained. An objective fills it in."""
    segment_T: Tensor
    turn_T: Tensor
    """The turn that wrote each token, or `NO_TURN`."""
    trajectory_S: Tensor
    trajectory_U: Tensor
    reward_U: Tensor
    """The world's reward for each turn."""
    group_R: Tensor
    """The group of each trajectory; trajectories with the same number are compared with each other."""
    return_R: Tensor
    """The sum of rewards of each trajectory."""
    columns: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])
    """Arrays that only some parts of objectives read, by name. A name ends in the array's axes, the first of which is
    T, U or R: `old_T`, `anchor_U`, `passed_R`."""

    @property
    def trajectories(self) -> int:
        """The number of trajectories."""
        return len(self.group_R)

    @property
    def trajectory_T(self) -> Tensor:
        """The trajectory of each token."""
        return self.trajectory_S[self.segment_T]

    @property
    def segments(self) -> int:
        """The number of segments."""
        return len(self.trajectory_S)

    def arrays(self) -> dict[str, Tensor]:
        """All arrays by name, columns included."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "columns"} | dict(self.columns)

    def with_columns(self, columns: Mapping[str, Tensor]) -> "TokenBatch":
        """The batch with these columns added to its own; a column with a known name replaces the old one."""
        return replace(self, columns={**self.columns, **columns})

    def column(self, name: str) -> Tensor:
        """A column.

        Raises:
            UnknownNameError: the batch has no such column, since nothing filled it in.
        """
        try:
            return self.columns[name]
        except KeyError:
            hint = "(an objective lists what it reads in `requires`; the creator of the batch fills it in)"
            raise UnknownNameError.of("column of a batch", name, self.columns, hint) from None

    def to(self, device: torch.device) -> "TokenBatch":
        """The batch on another device."""
        return _batch({name: array.to(device) for name, array in self.arrays().items()})

    def equals(self, other: "TokenBatch") -> bool:
        """Whether every array is the same, bit for bit."""
        own, others = self.arrays(), other.arrays()
        return own.keys() == others.keys() and all(torch.equal(array, others[name]) for name, array in own.items())

    def select(self, trajectories: Sequence[int]) -> "TokenBatch":
        """Some of the trajectories, in the given order, with segments, turns and trajectories numbered anew.

        Groups keep their numbers, so members of a group are still compared with each other.

        Args:
            trajectories: Indices below the property `trajectories`, each at most once.
        """
        chosen_R = torch.tensor(list(trajectories), dtype=torch.long, device=self.group_R.device)
        from_S, trajectory_S = _runs(self.trajectory_S, chosen_R, self.trajectories)
        from_U, trajectory_U = _runs(self.trajectory_U, chosen_R, self.trajectories)
        from_T, segment_T = _runs(self.segment_T, from_S, self.segments)
        turns = len(self.trajectory_U)
        new_U = torch.full((turns + 1,), NO_TURN, device=from_U.device)  # the last place is for NO_TURN
        new_U[from_U] = torch.arange(len(from_U), device=from_U.device)
        return TokenBatch(
            ids_T=self.ids_T[from_T],
            position_T=self.position_T[from_T],
            trained_T=self.trained_T[from_T],
            logprob_T=self.logprob_T[from_T],
            version_T=self.version_T[from_T],
            part_T=self.part_T[from_T],
            advantage_T=self.advantage_T[from_T],
            weight_T=self.weight_T[from_T],
            segment_T=segment_T,
            turn_T=new_U[self.turn_T[from_T]],
            trajectory_S=trajectory_S,
            trajectory_U=trajectory_U,
            reward_U=self.reward_U[from_U],
            group_R=self.group_R[chosen_R],
            return_R=self.return_R[chosen_R],
            columns={
                name: array[{"T": from_T, "U": from_U, "R": chosen_R}[_axis(name)]]
                for name, array in self.columns.items()
            },
        )


def concatenate(batches: Sequence[TokenBatch]) -> TokenBatch:
    """The trajectories of all batches, concatenated.

    Groups of different batches stay different: their numbers continue from batch to batch. Columns with two axes are
    padded with 0 to the widest.

    Args:
        batches: At least one batch; all are on one device and have the same columns.
    """
    arrays = [batch.arrays() for batch in batches]
    assert all(own.keys() == arrays[0].keys() for own in arrays), "batches of unlike columns"
    columns = {name: [own[name] for own in arrays] for name in arrays[0]}
    sizes = {
        "segment_T": [batch.segments for batch in batches],
        "turn_T": [len(batch.reward_U) for batch in batches],
        "trajectory_S": [batch.trajectories for batch in batches],
        "trajectory_U": [batch.trajectories for batch in batches],
        "group_R": [int(batch.group_R.max()) + 1 if batch.trajectories else 0 for batch in batches],
    }
    for name, counts in sizes.items():
        before = accumulate(counts, initial=0)
        columns[name] = [torch.where(one < 0, one, one + n) for one, n in zip(columns[name], before, strict=False)]
    return _batch({name: torch.cat(_alike(column)) for name, column in columns.items()})


def _alike(arrays: list[Tensor]) -> list[Tensor]:
    """The arrays; if they have two axes, rows are padded with 0 to a common width."""
    if arrays[0].dim() < 2:
        return arrays
    width = max(array.shape[1] for array in arrays)
    return [pad(array, (0, width - array.shape[1])) for array in arrays]


def _batch(arrays: Mapping[str, Tensor]) -> TokenBatch:
    """The batch with these arrays, as named by `TokenBatch.arrays`."""
    known = {one.name for one in fields(TokenBatch)}
    own = {name: array for name, array in arrays.items() if name in known}
    return TokenBatch(**own, columns={name: array for name, array in arrays.items() if name not in known})


def _axis(name: str) -> str:
    """The first axis of a column."""
    axis = name.rpartition("_")[2][:1]
    assert axis in ("T", "U", "R"), f"column {name}: a name ends in its axes, the first of which is T, U or R"
    return axis


def _runs(owner: Tensor, chosen: Tensor, owners: int) -> tuple[Tensor, Tensor]:
    """The indices of the items that belong to `chosen`, owner after owner, and the place in `chosen` of each's owner.

    Args:
        owner: The owner of each item, ascending.
        chosen: Owners, in any order.
        owners: The number of all owners.
    """
    count = torch.bincount(owner, minlength=owners)
    first = (count.cumsum(0) - count)[chosen]
    many = count[chosen]
    place = torch.arange(len(chosen), device=owner.device).repeat_interleave(many)
    begin = many.cumsum(0) - many
    within = torch.arange(len(place), device=owner.device) - begin[place]
    return first[place] + within, place


PARTS = ("", "plan", "switch", "action")
"""The parts of a turn that a token can belong to; a turn without marked parts is all action."""
