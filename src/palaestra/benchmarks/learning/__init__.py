"""Whether a policy learns to solve tasks, measured on tasks that it never saw."""

from palaestra.benchmarks.learning.material import (
    HeldoutGroup,
    LearningMaterial,
    evaluate_policy,
    groups_by_training,
    write_demonstrations,
)
from palaestra.benchmarks.learning.report import learning_document, learning_panels, learning_tables
from palaestra.benchmarks.learning.run import STAGES, LearningConfig, LearningResult, MeasuredPolicy, learn

__all__ = [
    "STAGES",
    "HeldoutGroup",
    "LearningConfig",
    "LearningMaterial",
    "LearningResult",
    "MeasuredPolicy",
    "evaluate_policy",
    "groups_by_training",
    "learn",
    "learning_document",
    "learning_panels",
    "learning_tables",
    "write_demonstrations",
]
