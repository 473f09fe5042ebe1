"""Trajectories flattened into aligned arrays: what objectives read and learners train on.

The tokens of all segments stand one behind the other, without padding; indices say what each belongs to. How they are
put through a model is a layout's business and changes no number here.

Axes: T tokens, S segments, U turns, R trajectories. Segments, turns and trajectories are in order, so that the tokens
of each stand together.
"""

from dataclasses import dataclass, fields

import torch
from torch import Tensor

NO_TURN = -1
"""The turn of a token that no turn wrote: a prompt's, a tool's, a user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBatch:
    """Aligned arrays; every index is into the axis that its field's name ends in a mention of."""

    ids_T: Tensor
    """Token ids."""
    position_T: Tensor
    """The place of each token in its segment."""
    trained_T: Tensor
    """Which tokens carry loss: the policy's own, and nobody else's. The first of a segment never does."""
    logprob_T: Tensor
    """Of each trained token when it was drawn; 0 elsewhere."""
    version_T: Tensor
    """Of the weights that drew each trained token; 0 elsewhere."""
    part_T: Tensor
    """What each token is part of, as an index into `PARTS`."""
    advantage_T: Tensor
    """How much better than expected what followed was; 0 where nothing is trained. An objective fills it in."""
    segment_T: Tensor
    turn_T: Tensor
    """The turn that wrote each token, or `NO_TURN`."""
    trajectory_S: Tensor
    trajectory_U: Tensor
    reward_U: Tensor
    """What the world paid for each turn."""
    group_R: Tensor
    """Trajectories that are compared with each other have the same number."""
    return_R: Tensor
    """The sum of rewards of each trajectory."""

    @property
    def trajectories(self) -> int:
        """How many trajectories there are."""
        return len(self.group_R)

    @property
    def trajectory_T(self) -> Tensor:
        """The trajectory of each token."""
        return self.trajectory_S[self.segment_T]

    def to(self, device: torch.device) -> "TokenBatch":
        """The batch on another device."""
        return TokenBatch(**{one.name: getattr(self, one.name).to(device) for one in fields(self)})


PARTS = ("", "plan", "switch", "action")
"""What a token can be part of; a turn whose parts nobody marked is all action."""
