"""Measures whether a policy learns to solve tasks, on tasks that it never saw."""

from palaestra.benchmarks.learning.base import digest_base, find_base
from palaestra.benchmarks.learning.material import (
    HeldoutGroup,
    LearningMaterial,
    evaluate_policy,
    groups_by_training,
    place_of,
    write_demonstrations,
)
from palaestra.benchmarks.learning.pages import (
    PagesLearning,
    RendererTask,
    measure_pages_learning,
    pages_learning_tables,
)
from palaestra.benchmarks.learning.pretrained import estimate_time, pretrained_config
from palaestra.benchmarks.learning.processes import learn_at_once
from palaestra.benchmarks.learning.report import learning_document, learning_panels, learning_tables
from palaestra.benchmarks.learning.run import (
    BASE,
    CONTROLS,
    STAGES,
    LearningConfig,
    LearningResult,
    MeasuredPolicy,
    learn,
)
from palaestra.benchmarks.learning.selection import choose_families, limit_tasks

__all__ = [
    "BASE",
    "CONTROLS",
    "STAGES",
    "HeldoutGroup",
    "LearningConfig",
    "LearningMaterial",
    "LearningResult",
    "MeasuredPolicy",
    "PagesLearning",
    "RendererTask",
    "choose_families",
    "digest_base",
    "estimate_time",
    "evaluate_policy",
    "find_base",
    "groups_by_training",
    "learn",
    "learn_at_once",
    "learning_document",
    "learning_panels",
    "learning_tables",
    "limit_tasks",
    "measure_pages_learning",
    "pages_learning_tables",
    "place_of",
    "pretrained_config",
    "write_demonstrations",
]
