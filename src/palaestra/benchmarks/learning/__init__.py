"""Whether a policy learns in the hall, measured on tasks that it never saw."""

from palaestra.benchmarks.learning.report import learning_document, learning_panels, learning_tables
from palaestra.benchmarks.learning.run import LearningConfig, Learnt, Material, Measured, learn

__all__ = [
    "LearningConfig",
    "Learnt",
    "Material",
    "Measured",
    "learn",
    "learning_document",
    "learning_panels",
    "learning_tables",
]
