"""Whether a policy learns in the hall, measured on tasks that it never saw."""

from palaestra.benchmarks.learning.evaluated import Material, evaluated
from palaestra.benchmarks.learning.report import learning_document, learning_panels, learning_tables
from palaestra.benchmarks.learning.run import LearningConfig, Learnt, Measured, learn

__all__ = [
    "LearningConfig",
    "Learnt",
    "Material",
    "Measured",
    "evaluated",
    "learn",
    "learning_document",
    "learning_panels",
    "learning_tables",
]
