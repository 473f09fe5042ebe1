"""Advantages of rewards in layers, each compared by itself. Axes: T tokens, U turns, R trajectories, L layers."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.advantages.group import group_advantages
from palaestra.trainers.objectives.advantages.unread import unread_rewards
from palaestra.trainers.objectives.advantages.whitened import whiten
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import sum_over


@part(
    "advantage",
    "gdpo",
    formula="A = whiten(sum_l w_l (R_l - mean_g R_l) / (std_g R_l + epsilon))",
    sources=("arXiv:2601.05242", "github.com/volcengine/verl"),
    confidence="code",
    requires=("layers_UL",),
    conflicts=unread_rewards("layers of the rubric"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Gdpo:
    """Each layer of the reward compared separately with the group, then their sum with the batch (GDPO).

    So a layer of small numbers has as much influence as one of large numbers.
    """

    weights: tuple[float, ...] = ()
    """The weight of each layer, in order. Default: 1 each."""
    over: Literal["tokens", "trajectories"] = "tokens"
    """The elements of the batch's mean and deviation: trained tokens (verl), or trajectories, each once."""
    epsilon: float = 1e-6
    """Keeps a group of nearly equal rewards finite."""

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Advantage`."""
        layers_RL = sum_over(batch.column("layers_UL"), batch.trajectory_U, batch.trajectories)
        layers = layers_RL.shape[1]
        if self.weights and len(self.weights) != layers:
            raise ValueError(f"weights={self.weights}: rewards have {layers} layers; give one weight for each, or none")
        sum_R = layers_RL.new_zeros(batch.trajectories)
        for layer, weight in enumerate(self.weights or (1.0,) * layers):
            sum_R = sum_R + weight * group_advantages(layers_RL[:, layer], batch.group_R, epsilon=self.epsilon)
        if self.over == "trajectories":
            return whiten(sum_R, torch.ones_like(batch.group_R, dtype=torch.bool))[batch.trajectory_T]
        return whiten(sum_R[batch.trajectory_T], batch.trained_T)
