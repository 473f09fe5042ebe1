"""The methods whose credit is scored, with the settings of their presets.

Parts of a preset that do not change the credit, but the reward or the loss, are left out:

- HiPER's penalties for keeping a subgoal, for naming another and for invalid turns.
- The weights by which Blockwise balances the lengths of blocks.
- Terms against a reference policy.
- SeeUPO's factors of turns that were updated before: they are 1 before the first step on a batch.

SeeUPO updates the turns of one place at a time, and normalises advantages over these alone. So does its estimate.
"""

from collections.abc import Mapping
from types import MappingProxyType

import torch
from torch import Tensor

from palaestra.benchmarks.credit.resampling import CreditEstimator
from palaestra.trainers import ObjectiveConfig
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import BuiltObjective, Objective
from palaestra.trainers.objectives.advantages.turns import places
from palaestra.trainers.updates.chosen import reshape_rewards
from palaestra.trainers.updates.turns import at_place

METHODS: Mapping[str, ObjectiveConfig] = MappingProxyType(
    {
        "grpo": ObjectiveConfig(preset="grpo"),
        "gigpo": ObjectiveConfig(preset="gigpo", parts={"regularisers": []}),
        "hiper": ObjectiveConfig(
            preset="hiper",
            parts={
                "advantage": {"part": "hiper", "bootstrap_truncated": True, "normalised": True},
                "regularisers": [],
            },
        ),
        "seeupo": ObjectiveConfig(preset="seeupo", parts={"regularisers": []}),
        "blockwise": ObjectiveConfig(preset="blockwise", parts={"advantage": {"part": "blockwise", "balanced": False}}),
        "mt_grpo": ObjectiveConfig(preset="mt_grpo"),
        "agent_prm": ObjectiveConfig(preset="agent_prm"),
    }
)


def estimator_of(built: BuiltObjective) -> CreditEstimator:
    """Make an estimator of a preset's advantages: rewards in its unit, its advantage and its transforms.

    Args:
        built: The objective; its parts may read only rollouts and a critic.
    """
    by_place = built.recipe.schedule.name == "turns"

    def estimate(batch: TokenBatch) -> Tensor:
        batch = reshape_rewards(batch, built)
        if by_place:
            return _advantages_by_place(batch, built.objective)
        return built.objective.advantages(batch).advantage_T

    return estimate


def _advantages_by_place(batch: TokenBatch, objective: Objective) -> Tensor:
    """Advantages of an objective that trains on the turns of one place at a time, [T]."""
    place_U = places(batch.trajectory_U, batch.trajectories)
    advantage_T = torch.zeros_like(batch.advantage_T)
    for place in place_U.unique().tolist():
        turn = at_place(batch, place_U, place)
        advantage_T = torch.where(turn.trained_T, objective.advantages(turn).advantage_T, advantage_T)
    return advantage_T
