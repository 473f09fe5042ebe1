"""Advantages for several agents, each compared with itself. Axes: T tokens, R trajectories."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.group import group_advantages
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import number_keys


@part(
    "advantage",
    "dr-mas",
    formula="A = (R - mean_k R) / (std_k R + epsilon), k the trajectories of one agent in a group",
    sources=("arXiv:2602.08847", "github.com/langfengQ/DrMAS"),
    confidence="code",
    requires=("agent_R",),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class DrMas:
    """Each trajectory's return compared with those of the same agent in its group (Dr.MAS).

    If compared with the mean of all agents, the gradient of an agent with different rewards would vary (std_k^2 +
    (mean_k - mean)^2) / std^2 times as much. With one agent it is GRPO, except for groups of one.
    """

    alone: Literal["kept", "zero"] = "kept"
    """The advantage of an agent that acted once in a group: its return, as if mean 0 and deviation 1 (the authors'
    code), or 0."""
    epsilon: float = 1e-6
    """Keeps nearly equal returns finite."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        key_R, keys = number_keys(torch.stack([batch.group_R, batch.column("agent_R").to(batch.group_R.dtype)], 1))
        advantage_R = group_advantages(batch.return_R, key_R, epsilon=self.epsilon)
        if self.alone == "kept":
            alone_R = (torch.bincount(key_R, minlength=keys) == 1)[key_R]
            advantage_R = advantage_R.where(~alone_R, batch.return_R / (1 + self.epsilon))
        return advantage_R[batch.trajectory_T]
