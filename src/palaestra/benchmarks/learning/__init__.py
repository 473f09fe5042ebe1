"""Whether a policy learns in the hall, measured on tasks that it never saw."""

from palaestra.benchmarks.learning.material import LearningMaterial, evaluate_policy
from palaestra.benchmarks.learning.report import learning_document, learning_panels, learning_tables
from palaestra.benchmarks.learning.run import LearningConfig, LearningResult, MeasuredPolicy, learn

__all__ = [
    "LearningConfig",
    "LearningMaterial",
    "LearningResult",
    "MeasuredPolicy",
    "evaluate_policy",
    "learn",
    "learning_document",
    "learning_panels",
    "learning_tables",
]
