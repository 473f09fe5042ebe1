"""Advantages of turns from a process reward model that is trained beside the policy.

Axes: T tokens, U turns, R trajectories, K places in a trajectory.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.critic import gae
from palaestra.trainers.objectives.advantages.discounts import refuse_beyond_one
from palaestra.trainers.objectives.advantages.rows import Rows
from palaestra.trainers.objectives.advantages.turns import at_tokens, places, turn_returns
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import mean_over, number_keys

PromiseEstimate: TypeAlias = Literal["monte-carlo", "td"]
"""The target of a turn's promise: the mean return of all that took the same action in the same state, or GAE's."""


@part(
    "advantage",
    "agent-prm",
    formula="A_t = Q^_t - V_t; Q^ by Monte Carlo or by GAE, V_t = (Q_{t-1} - r_{t-1}) / gamma, V_0 = mean_g Q_0",
    sources=("arXiv:2502.10325", "arXiv:2511.08325", "github.com/sanjibanc/agent_prm"),
    confidence="secondary",
    requires=("promise_U", "anchor_U", "task_R"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPrm:
    """AgentPRM: a critic learns the promise Q(s, a) of each turn, and a turn's advantage is its progress.

    `monte-carlo` (arXiv:2502.10325): the critic's target is the mean later reward over all of the batch that took the
    same action in the same state,

        Q^(s, a) = mean over passes through (s, a) of sum_{k >= t} gamma^(k - t) r_k.

    The authors' code discounts from the beginning and rescales to [0, 1]; this is the paper's formula. `td`
    (arXiv:2511.08325): temporal differences with GAE,

        Q^_t = Q_t + sum_k (gamma lam)^k delta_{t + k},   delta_t = r_t + gamma Q_{t+1} - Q_t

    with Q 0 after the last turn; the index of r is ours, because our worlds reward each turn. Both papers train the
    model before the policy, alternating; here both are trained on each batch. A turn's advantage is its target minus
    the value of the state in which it began. The previous turn led to that state, so the state's value is that turn's
    promise minus its reward; before the first turn it is the group's mean promise.
    """

    estimate: PromiseEstimate = "monte-carlo"
    """How targets are computed."""
    gamma: float = 1.0
    """The discount of a turn; 0.95 in the authors' code."""
    lam: float = 0.95
    """Lambda of GAE, for `td`; with 1, targets are the rewards from the turn on."""

    def __post_init__(self) -> None:
        refuse_beyond_one(gamma=self.gamma, lam=self.lam)
        if self.gamma == 0:
            raise ValueError("gamma=0: what a turn leaves is worth its promise over gamma; give a number above 0")

    @property
    def column(self) -> str:
        """See `ValueReader`."""
        return "promise_U"

    @property
    def heads(self) -> int:
        """See `ValueReader`."""
        return 1

    def targets(self, batch: TokenBatch) -> Tensor:
        """See `ValueReader`: the target of each turn's promise, [U]."""
        promise_U = batch.column("promise_U")
        reward_U = batch.reward_U.to(promise_U.dtype)
        if self.estimate == "td":
            return td_targets(
                reward_U, promise_U, batch.trajectory_U, batch.trajectories, gamma=self.gamma, lam=self.lam
            )
        return_U = turn_returns(reward_U, batch.trajectory_U, batch.trajectories, gamma=self.gamma)
        state_U = torch.stack([batch.column("task_R")[batch.trajectory_U], batch.column("anchor_U")], 1)
        return monte_carlo_targets(return_U, state_U, action_numbers(batch))

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        promise_U = batch.column("promise_U")
        value_U = state_values(
            promise_U, batch.reward_U.to(promise_U.dtype), batch.trajectory_U, batch.group_R, gamma=self.gamma
        )
        return at_tokens(self.targets(batch) - value_U, batch)


def monte_carlo_targets(return_U: Tensor, state_U: Tensor, action_U: Tensor) -> Tensor:
    """The mean return of the turns that took the same action in the same state, [U].

    Args:
        return_U: The return from each turn on.
        state_U: Keys of states, rows of [U, ...].
        action_U: Keys of actions.
    """
    owner_U, owners = number_keys(torch.cat([state_U, action_U[:, None]], 1))
    return mean_over(return_U, owner_U, owners)[owner_U]


def td_targets(
    reward_U: Tensor, promise_U: Tensor, trajectory_U: Tensor, trajectories: int, *, gamma: float, lam: float
) -> Tensor:
    """Promises moved by the temporal differences that follow them, [U].

    Args:
        reward_U: The reward of each turn.
        promise_U: The critic's promise of each turn, its own reward included.
        trajectory_U: The trajectory of each turn, ascending.
        trajectories: The number of trajectories.
        gamma: The discount of a turn.
        lam: Lambda of GAE.
    """
    rows = Rows.of(trajectory_U, trajectories)
    ahead_RK = gae(rows.spread(reward_U), rows.spread(promise_U), gamma=gamma, lam=lam)
    return promise_U + rows.gather(ahead_RK)


def state_values(promise_U: Tensor, reward_U: Tensor, trajectory_U: Tensor, group_R: Tensor, *, gamma: float) -> Tensor:
    """The value of the state in which each turn began, [U].

    Args:
        promise_U: The critic's promise of each turn.
        reward_U: The reward of each turn.
        trajectory_U: The trajectory of each turn, ascending.
        group_R: The group of each trajectory; members begin in the same state.
        gamma: The discount of a turn.
    """
    left_U = ((promise_U - reward_U) / gamma).roll(1)
    first_U = places(trajectory_U, len(group_R)) == 0
    owner_R, groups = number_keys(group_R)
    owner_U = owner_R[trajectory_U]
    begun_G = mean_over(promise_U[first_U], owner_U[first_U], groups)
    return torch.where(first_U, begun_G[owner_U], left_U)


def action_numbers(batch: TokenBatch) -> Tensor:
    """A number for the tokens of each turn, [U]: equal tokens have equal numbers."""
    own_T = batch.trained_T & (batch.turn_T >= 0)
    written: list[list[int]] = [[] for _ in range(len(batch.reward_U))]
    pairs: Iterable[tuple[int, int]] = zip(batch.turn_T[own_T].tolist(), batch.ids_T[own_T].tolist(), strict=True)
    for turn, token in pairs:
        written[turn].append(token)
    numbers: dict[tuple[int, ...], int] = {}
    return batch.turn_T.new_tensor([numbers.setdefault(tuple(one), len(numbers)) for one in written])
