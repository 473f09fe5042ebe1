"""What a policy is trained towards: pure functions on a `TokenBatch`."""

from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.grpo import Grpo
from palaestra.trainers.objectives.objective import Metrics, Objective, Totals
from palaestra.trainers.objectives.supervised import Supervised

__all__ = [
    "Aggregation",
    "Grpo",
    "Metrics",
    "Objective",
    "Supervised",
    "Totals",
]
