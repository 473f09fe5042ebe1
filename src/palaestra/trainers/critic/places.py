"""The places at which a critic's values are read. Axes: T tokens, U turns, H heads.

The value at a token is that of the state before it, in which the token is sampled.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import PARTS, TokenBatch
from palaestra.trainers.objectives.segments import greatest_over, least_over

_ACTION = PARTS.index("action")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueReading:
    """The column that a critic fills in, and the tokens at which the critic is read."""

    column: str
    """The column's name: `value_T`, `values_UH` or `promise_U`."""
    heads: int
    read_TH: Tensor
    """Whether each head is read at each token, booleans."""
    place_UH: Tensor | None = None
    """The token of each turn at which each head is read, or -1 if at none; `None` if heads are read at every token."""

    def to_column(self, value_TH: Tensor) -> Tensor:
        """The column, from the values of all heads at all tokens."""
        if self.place_UH is None:
            return value_TH[:, 0]
        found_UH = torch.stack([value_TH[self.place_UH[:, h], h] for h in range(self.heads)], dim=1)
        found_UH = found_UH.masked_fill(self.place_UH < 0, 0.0)
        return found_UH[:, 0] if self.column.endswith("_U") else found_UH

    def spread(self, target: Tensor) -> Tensor:
        """The target of every head at every token, [T, H], from a column of targets; valid at `read_TH` only."""
        if self.place_UH is None:
            return target[:, None]
        target = target[:, None] if target.dim() == 1 else target
        found_TH = target.new_zeros(self.read_TH.shape)
        for head in range(self.heads):
            there_U = self.place_UH[:, head] >= 0
            found_TH[self.place_UH[there_U, head], head] = target[there_U, head]
        return found_TH


def value_reading(batch: TokenBatch, column: str) -> ValueReading:
    """The places at which the values of a column are read.

    - `value_T`: one head, at every trained token.
    - `values_UH`: HiPER's three heads (arXiv:2602.16165): high at the first token of turns that begin a subgoal, low at
      the first token of a turn's action (the turn's first token if it has no action), switch at the first token of
      every turn.
    - `promise_U`: AgentPRM's head (arXiv:2502.10325), at the last trained token of each turn, which follows the rest of
      the action.
    """
    if column == "value_T":
        return ValueReading(column=column, heads=1, read_TH=batch.trained_T[:, None])
    if column == "promise_U":
        place_UH = _last(batch, batch.trained_T)[:, None]
        read_TH = torch.zeros(len(batch.ids_T), 1, dtype=torch.bool, device=batch.ids_T.device)
        read_TH[place_UH[place_UH >= 0], 0] = True
        return ValueReading(column=column, heads=1, read_TH=read_TH, place_UH=place_UH)
    assert column == "values_UH", f"no critic fills in {column}"
    first_U = _first(batch, batch.trained_T)
    action_U = _first(batch, batch.trained_T & (batch.part_T == _ACTION))
    high_U = first_U.masked_fill(batch.column("switch_U") == 0, -1)
    low_U = torch.where(action_U >= 0, action_U, first_U)
    place_UH = torch.stack([high_U, low_U, first_U], dim=1)
    read_TH = torch.zeros(len(batch.ids_T), 3, dtype=torch.bool, device=batch.ids_T.device)
    for head in range(3):
        read_TH[place_UH[place_UH[:, head] >= 0, head], head] = True
    return ValueReading(column=column, heads=3, read_TH=read_TH, place_UH=place_UH)


def _last(batch: TokenBatch, inside_T: Tensor) -> Tensor:
    """The last token of each turn for which `inside_T` is true, [U]; -1 if there is none."""
    inside_T = inside_T & (batch.turn_T >= 0)
    turn_N, turns = batch.turn_T[inside_T], len(batch.reward_U)
    found_U = greatest_over(inside_T.nonzero()[:, 0], turn_N, turns)
    return found_U.masked_fill(torch.bincount(turn_N, minlength=turns) == 0, -1)


def _first(batch: TokenBatch, inside_T: Tensor) -> Tensor:
    """The first token of each turn for which `inside_T` is true, [U]; -1 if there is none."""
    inside_T = inside_T & (batch.turn_T >= 0)
    place_N = inside_T.nonzero()[:, 0]
    turns = len(batch.reward_U)
    found_U = least_over(place_N, batch.turn_T[inside_T], turns)
    there_U = torch.bincount(batch.turn_T[inside_T], minlength=turns) > 0
    return found_U.masked_fill(~there_U, -1)
