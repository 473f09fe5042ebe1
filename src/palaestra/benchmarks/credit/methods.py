"""The methods whose credit is scored, with the settings of their presets.

Parts of a preset that do not change the credit, but the reward or the loss, are left out:

- HiPER's penalties for keeping a subgoal, for naming another and for invalid turns.
- The weights by which Blockwise balances the lengths of blocks.
- Terms against a reference policy.
- SeeUPO's factors of turns that were updated before: they are 1 before the first step on a batch.
"""

from collections.abc import Mapping
from types import MappingProxyType

from torch import Tensor

from palaestra.benchmarks.credit.resampling import CreditEstimator
from palaestra.trainers import ObjectiveConfig
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives import BuiltObjective
from palaestra.trainers.updates.chosen import reshape_rewards

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

    def estimate(batch: TokenBatch) -> Tensor:
        return built.objective.advantages(reshape_rewards(batch, built)).advantage_T

    return estimate
