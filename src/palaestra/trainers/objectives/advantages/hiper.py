"""Advantages of a policy that plans: a stream each for its acts, its subgoals and its decisions to change them.

A segment is the turns of one subgoal. It begins with the first turn and with every turn that switches.

Axes: T tokens, U turns, R trajectories, K places in a trajectory, H the critic's heads: high, low, switch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import PARTS, TokenBatch
from palaestra.trainers.objectives.advantages.discounts import discount, following, refuse_beyond_one
from palaestra.trainers.objectives.advantages.planning import KeepMode, shaped_rewards
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.advantages.turns import at_tokens, last
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over


@part(
    "advantage",
    "hiper",
    formula="A_lo by GAE within a segment, A_hi by GAE over segments, A_sw = return of the segment - V_switch",
    sources=("arXiv:2602.16165", "github.com/JonP07/HiPER-agent"),
    confidence="code",
    requires=("values_UH", "switch_U", "done_R", "goal_U", "invalid_U"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Hiper:
    """HiPER (arXiv:2602.16165): three streams of advantages, for the parts of a planner's turn.

    `action` tokens have the advantage of the low stream, `plan` tokens (the subgoal) that of the high stream in turns
    that begin a segment, `switch` tokens that of the switch stream. In a turn without an action, every token also has
    the low stream's advantage. A trajectory that keeps its subgoal throughout is one segment: A_lo is then GAE over
    turns.
    """

    gamma: float = 1.0
    """The discount of a turn."""
    lambda_turn: float = 1.0
    """Lambda of GAE from turn to turn within a segment."""
    lambda_segment: float = 0.95
    """Lambda of GAE from segment to segment."""
    bootstrap_truncated: bool = False
    """Whether a truncated episode has the critic's last value as its end value instead of 0. On in the authors' runs of
    ALFWorld, off in those of WebShop."""
    normalised: bool = False
    """Whether each stream is normalised to mean 0 and deviation 1 over the turns that have tokens of it."""
    keep: float = 0.0
    """Reward for keeping a subgoal; negative is a penalty. -0.3 (fixed) and -3.5 (normalised) in the authors' runs."""
    keep_mode: KeepMode = "fixed"
    """Whether each such turn gets the full reward, or the share of such turns in the episode is spread over them."""
    inconsistent: float = 0.0
    """Reward of a turn that keeps its subgoal but names another; -0.3 in the authors' runs."""
    invalid: float = 0.0
    """Reward of an invalid turn; -0.1 in the authors' runs."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma=self.gamma, lambda_turn=self.lambda_turn, lambda_segment=self.lambda_segment)

    def streams(self, batch: TokenBatch) -> "Streams":
        """The advantages before normalisation, and the critic's targets."""
        reward_U = shaped_rewards(
            batch.reward_U,
            batch.column("switch_U"),
            batch.column("goal_U"),
            batch.column("invalid_U"),
            batch.trajectory_U,
            batch.trajectories,
            keep=self.keep,
            keep_mode=self.keep_mode,
            inconsistent=self.inconsistent,
            invalid=self.invalid,
        )
        return hiper_streams(
            reward_U,
            batch.column("values_UH"),
            batch.column("switch_U"),
            batch.column("done_R"),
            batch.trajectory_U,
            gamma=self.gamma,
            lambda_turn=self.lambda_turn,
            lambda_segment=self.lambda_segment,
            bootstrap_truncated=self.bootstrap_truncated,
        )

    @property
    def column(self) -> str:
        """See `ValueReader`."""
        return "values_UH"

    @property
    def heads(self) -> int:
        """See `ValueReader`: high, low, switch."""
        return 3

    def targets(self, batch: TokenBatch) -> Tensor:
        """See `ValueReader`; the head high has a meaning only in turns that begin a segment."""
        streams = self.streams(batch)
        return torch.stack([streams.high_target_U, streams.low_target_U, streams.switch_target_U], dim=1)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        streams = self.streams(batch)
        advantage_T = torch.zeros_like(at_tokens(streams.low_U, batch))
        acts_T, plans_T, switches_T = _find_owned(batch, streams.boundary_U)
        for value_U, own_T in (
            (streams.low_U, acts_T), (streams.high_U, plans_T), (streams.switch_U, switches_T),
        ):  # fmt: skip
            held_U = count_over(own_T, batch.turn_T, len(value_U)) > 0
            shown_U = _whiten(value_U, held_U) if self.normalised else value_U
            advantage_T = advantage_T + at_tokens(shown_U, batch).masked_fill(~own_T, 0.0)
        return advantage_T


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """Advantages of turns, and the targets of the critic's heads."""

    low_U: Tensor
    """Advantages of acts."""
    high_U: Tensor
    """Advantages of subgoals; 0 in turns that do not begin a segment."""
    switch_U: Tensor
    """Advantages of keeping the subgoal or not."""
    low_target_U: Tensor
    high_target_U: Tensor
    """Targets of the head high; 0 in turns that do not begin a segment, which are not trained on."""
    switch_target_U: Tensor
    boundary_U: Tensor
    """Which turns begin a segment, booleans."""


def hiper_streams(
    reward_U: Tensor,
    value_UH: Tensor,
    switch_U: Tensor,
    done_R: Tensor,
    trajectory_U: Tensor,
    *,
    gamma: float = 1.0,
    lambda_turn: float = 1.0,
    lambda_segment: float = 0.95,
    bootstrap_truncated: bool = False,
) -> Streams:
    """The three streams of HiPER (arXiv:2602.16165).

    Args:
        reward_U: The reward of each turn.
        value_UH: The critic's values of each turn: high, low, switch. High is read only where a segment begins.
        switch_U: Not 0 if a turn begins a new subgoal.
        done_R: Not 0 if the world ended the episode.
        trajectory_U: The trajectory of each turn, ascending.
        gamma: The discount of a turn.
        lambda_turn: Lambda of GAE within a segment.
        lambda_segment: Lambda of GAE over segments.
        bootstrap_truncated: Whether a truncated episode has the critic's last value as its end value.
    """
    rows = Rows.of(trajectory_U, len(done_R))
    boundary_U = (switch_U != 0) | (rows.place_X == 0)
    high_U, low_U, switch_value_U = value_UH.unbind(1)
    # A value that is not at a segment's beginning may be anything; it is removed before any arithmetic.
    high_U = high_U.masked_fill(~boundary_U, 0.0)
    reward_RK, high_RK, low_RK, boundary_RK = map(rows.spread, (reward_U, high_U, low_U, boundary_U))
    final_RK = rows.spread(last(trajectory_U, len(done_R)))
    ends_RK = final_RK | following(boundary_RK)
    # The value after the last turn: 0, or the critic's last value.
    goes_on_R1 = (done_R == 0)[:, None] & bootstrap_truncated
    beyond_RK = _at_start(high_RK, boundary_RK).masked_fill(~goes_on_R1, 0.0)
    low_beyond_RK = low_RK.masked_fill(~goes_on_R1, 0.0)
    tail_RK = torch.where(final_RK, beyond_RK, following(high_RK))
    low_tail_RK = torch.where(final_RK, low_beyond_RK, following(high_RK))

    expected_RK = torch.where(ends_RK, low_tail_RK, following(low_RK))
    within_RK = (~ends_RK).to(reward_RK.dtype)
    low_adv_RK = discount(reward_RK + gamma * expected_RK - low_RK, gamma * lambda_turn * within_RK)
    return_RK = discount(reward_RK + gamma * tail_RK.masked_fill(~ends_RK, 0.0), gamma * within_RK)
    # Over segments, place by place: gamma for each turn, and lambda once where the next segment begins.
    step_RK = within_RK + lambda_segment * (ends_RK & ~final_RK).to(reward_RK.dtype)
    high_adv_RK = discount((return_RK - high_RK).masked_fill(~boundary_RK, 0.0), gamma * step_RK)

    low_adv_U, return_U = rows.gather(low_adv_RK), rows.gather(return_RK)
    high_adv_U = rows.gather(high_adv_RK).masked_fill(~boundary_U, 0.0)
    return Streams(
        low_U=low_adv_U,
        high_U=high_adv_U,
        switch_U=return_U - switch_value_U,
        low_target_U=low_adv_U + low_U,
        high_target_U=high_adv_U + high_U,
        switch_target_U=return_U,
        boundary_U=boundary_U,
    )


def _at_start(high_RK: Tensor, boundary_RK: Tensor) -> Tensor:
    """The value at the beginning of each turn's segment, [R, K]."""
    place_K = torch.arange(high_RK.shape[1], device=high_RK.device)
    start_RK = place_K * boundary_RK
    return high_RK.gather(1, start_RK.cummax(1).values) if len(place_K) else high_RK


def _find_owned(batch: TokenBatch, boundary_U: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Which trained tokens have the low, the high and the switch stream, [T] each."""
    own_T = batch.trained_T
    acts_T = own_T & (batch.part_T == PARTS.index("action"))
    acted_U = count_over(acts_T, batch.turn_T, len(boundary_U)) > 0
    acts_T = acts_T | (own_T & ~at_tokens(acted_U, batch))
    plans_T = own_T & (batch.part_T == PARTS.index("plan")) & at_tokens(boundary_U, batch)
    return acts_T, plans_T, own_T & (batch.part_T == PARTS.index("switch"))


def _whiten(value_U: Tensor, chosen_U: Tensor) -> Tensor:
    """Normalise to mean 0 and deviation 1 (the population's) over some turns."""
    chosen = value_U[chosen_U]
    if not len(chosen):
        return value_U
    return (value_U - chosen.mean()) / (chosen.std(correction=0) + 1e-8)
