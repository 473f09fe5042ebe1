"""Advantages of agents that share an outcome, from the contribution of each.

Axes: U turns, R trajectories, A agents, C coalitions of them: place c holds the agents whose bits are set in c.
"""

from dataclasses import dataclass
from math import factorial

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.group import group_advantages
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import mean_over, number_keys


@part(
    "advantage",
    "sharp",
    formula="A = z_{g, role}(R + s (R - R without the agent) + p (share of valid turns))",
    sources=("arXiv:2602.08335",),
    confidence="secondary",
    requires=("agent_R", "counterfactual_R", "invalid_U"),
    neutral={"contribution": 0.0, "validity": 0.0},
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Sharp:
    """SHARP (arXiv:2602.08335): per role, a shared outcome, the agent's contribution, and the validity of its calls.

    A trajectory is one agent's part of an episode; those of one role are compared within the group. An agent's
    contribution is the outcome minus that without the agent, a single counterfactual. That is Shapley's value only if
    contributions are additive: agents that need each other each get all the credit, and redundant agents get none (see
    `shapley_values`). The share of valid turns replaces the paper's share of valid tool calls. Neutral, as GRPO within
    each role, with both coefficients 0.
    """

    contribution: float = 0.3
    """Weight of the agent's contribution. Experimental: this value is ours."""
    validity: float = 0.1
    """Weight of the share of valid turns. Experimental: this value is ours."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal rewards finite."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        valid_U = (batch.column("invalid_U") == 0).to(batch.return_R.dtype)
        valid_R = mean_over(valid_U, batch.trajectory_U, batch.trajectories)
        added_R = batch.return_R - batch.column("counterfactual_R").to(batch.return_R.dtype)
        reward_R = batch.return_R + self.contribution * added_R + self.validity * valid_R
        advantage_R = role_advantages(reward_R, batch.group_R, batch.column("agent_R"), epsilon=self.epsilon)
        return advantage_R[batch.trajectory_T]


def role_advantages(reward_R: Tensor, group_R: Tensor, agent_R: Tensor, *, epsilon: float = 1e-6) -> Tensor:
    """Each trajectory minus the mean of those with the same group and agent, over their standard deviation, [R]."""
    role_R, _ = number_keys(torch.stack([number_keys(group_R)[0], number_keys(agent_R)[0]], 1))
    return group_advantages(reward_R, role_R, epsilon=epsilon)


def shapley_values(worth_C: Tensor) -> Tensor:
    """Shapley's value of each agent, [A], from the worth of every coalition; they add up to v(all) - v(none).

    Args:
        worth_C: 2 ** A numbers. The method is exact and needs all of them, so it suits about four agents.

    Raises:
        ValueError: there is not one number for each coalition.
    """
    agents = _agents(worth_C)
    size = [c.bit_count() for c in range(len(worth_C))]
    share = [factorial(s) * factorial(agents - s - 1) / factorial(agents) if s < agents else 0.0 for s in size]
    share_C = torch.tensor(share, dtype=worth_C.dtype, device=worth_C.device)
    coalition_C = torch.arange(len(worth_C), device=worth_C.device)
    values: list[Tensor] = []
    for agent in range(agents):
        without = coalition_C[(coalition_C >> agent) & 1 == 0]
        values.append((share_C[without] * (worth_C[without | (1 << agent)] - worth_C[without])).sum())
    return torch.stack(values) if values else worth_C.new_zeros(0)


def leave_one_out_values(worth_C: Tensor) -> Tensor:
    """The worth of all agents minus that without one, for each agent, [A]; Shapley's value only for additive games.

    Args:
        worth_C: 2 ** A numbers.

    Raises:
        ValueError: there is not one number for each coalition.
    """
    agents = _agents(worth_C)
    everybody = len(worth_C) - 1
    without_A = torch.tensor([everybody ^ (1 << agent) for agent in range(agents)], device=worth_C.device)
    return worth_C[everybody] - worth_C[without_A.long()]


def _agents(worth_C: Tensor) -> int:
    count = len(worth_C)
    if count.bit_count() != 1:
        raise ValueError(f"{count} coalitions: A agents have 2 ** A, including the empty and the complete one")
    return count.bit_length() - 1
