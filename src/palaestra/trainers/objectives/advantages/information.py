"""Advantages from the likelihood of the reference answer. Axes: T tokens, U turns, R trajectories, K places."""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import PARTS, TokenBatch
from palaestra.trainers.objectives.advantages.discounts import refuse_beyond_one
from palaestra.trainers.objectives.advantages.group import group_advantages
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.advantages.turns import (
    at_tokens,
    before,
    has_rivals,
    last,
    turn_returns,
)
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import centre, count_over, number_keys, sum_over, variance_over


@part(
    "advantage",
    "mig",
    formula="A = b z_g(R) + a z_g(sum_k g_k) on reasoning, g_k = max(0, l_k - max_{j<k} l_j)",
    sources=("arXiv:2602.01034",),
    confidence="secondary",
    requires=("gold_U", "gold_R"),
    neutral={"gain": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Mig:
    """MIG's advantage (arXiv:2602.01034): the outcome for every token, plus the information gain for reasoning tokens.

    l_k is the mean log-probability of the reference answer after turn k. Only an increase beyond the best so far is a
    gain, so that forgetting and recalling wins nothing. Steps are turns here. Reasoning is every marked token that is
    not an `action`, and the whole of a turn without marked parts or with only actions. The paper's third term,
    imitation of correct rollouts with a gain, is not an advantage. Neutral, as GRPO, with `gain` 0.
    """

    gain: float = 1.0
    """Weight of the information gained. Ours: the paper's value is not known to us."""
    outcome: float = 1.0
    """Weight of the return. Ours too."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal gains finite."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        gain_U = monotone_gains(batch.column("gold_U"), batch.column("gold_R"), batch.trajectory_U)
        gain_R = sum_over(gain_U, batch.trajectory_U, batch.trajectories).to(batch.return_R.dtype)
        outcome_R = self.outcome * group_advantages(batch.return_R, batch.group_R, epsilon=self.epsilon)
        gained_R = self.gain * group_advantages(gain_R, batch.group_R, epsilon=self.epsilon)
        thought_T = _reasoning(batch)
        owner_T = batch.trajectory_T
        return outcome_R[owner_T] + gained_R[owner_T].masked_fill(~thought_T, 0.0)


@part(
    "advantage",
    "igpo",
    formula="A_t = z_g(sum_{k >= t} gamma^(k-t) r_k), r_k = p_k - p_{k-1}, the outcome at the last turn",
    sources=("arXiv:2510.14967", "github.com/GuoqingWang1/IGPO"),
    confidence="secondary",
    requires=("gold_U", "gold_R"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Igpo:
    """IGPO (arXiv:2510.14967): each turn is rewarded by the increase in probability of the reference answer.

    p_k is the exponential of the answer's mean log-probability after turn k. The last turn gets the outcome instead,
    here the trajectory's return. The discounted rewards from a turn on are normalised over all turns of the group. The
    released code takes mean and deviation over first turns only; a group with equal first turns would then divide all
    others by zero. For trajectories of a single turn it is GRPO.
    """

    gamma: float = 1.0
    """The discount of a turn. Ours: that of the paper's runs is not known to us."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal returns finite."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma=self.gamma)

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        trajectory_U, trajectories = batch.trajectory_U, batch.trajectories
        gain_U = likelihood_gains(batch.column("gold_U"), batch.column("gold_R"), trajectory_U)
        reward_U = torch.where(
            last(trajectory_U, trajectories), batch.return_R[trajectory_U], gain_U.to(batch.return_R.dtype)
        )
        follows_U = turn_returns(reward_U, trajectory_U, trajectories, gamma=self.gamma)
        return at_tokens(turn_advantages(follows_U, trajectory_U, batch.group_R, epsilon=self.epsilon), batch)


def monotone_gains(gold_U: Tensor, gold_R: Tensor, trajectory_U: Tensor) -> Tensor:
    """By how much each turn exceeds the best so far, [U], or 0: they add up to the best minus the first.

    Args:
        gold_U: The mean log-probability of the reference answer after each turn.
        gold_R: The same before the first turn.
        trajectory_U: The trajectory of each turn, ascending.
    """
    rows = Rows.of(trajectory_U, len(gold_R))
    best_RK = torch.cat([gold_R[:, None], rows.spread(gold_U)], 1).cummax(1).values
    return (gold_U - rows.gather(best_RK)).clamp_min(0)


def likelihood_gains(gold_U: Tensor, gold_R: Tensor, trajectory_U: Tensor) -> Tensor:
    """By how much each turn raised the probability of the reference answer, [U]; arguments as `monotone_gains`."""
    return gold_U.exp() - before(gold_U, gold_R, trajectory_U).exp()


def turn_advantages(value_U: Tensor, trajectory_U: Tensor, group_R: Tensor, *, epsilon: float = 1e-6) -> Tensor:
    """Each turn normalised over its group's turns, with the sample's standard deviation, [U]; 0 without rivals."""
    owner_U, groups = number_keys(group_R[trajectory_U])
    deviation_G = variance_over(value_U, owner_U, groups).sqrt()
    off_U = centre(value_U, owner_U, groups) / (deviation_G + epsilon)[owner_U]
    return off_U.masked_fill(~has_rivals(group_R)[trajectory_U], 0.0)


def _reasoning(batch: TokenBatch) -> Tensor:
    """Which trained tokens are reasoning, [T]."""
    own_T = batch.trained_T
    acts_T = batch.part_T == PARTS.index("action")
    thought_U = count_over(own_T & ~acts_T, batch.turn_T, len(batch.reward_U)) > 0
    return own_T & (~acts_T | ~at_tokens(thought_U, batch))
