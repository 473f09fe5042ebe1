"""What a policy is trained towards: parts that compose, pure functions on a `TokenBatch`."""

from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.build import Built, ObjectiveConfig, build, imported, read_recipe
from palaestra.trainers.objectives.columns import COLUMNS
from palaestra.trainers.objectives.composed import Composed, Masking
from palaestra.trainers.objectives.objective import Loss, Metrics, Objective, Prepared
from palaestra.trainers.objectives.part import PARTS, PLUGS, Part, part, part_of
from palaestra.trainers.objectives.ratio import Ratio
from palaestra.trainers.objectives.recipe import Preset, Recipe, Schedule, preset, presets
from palaestra.trainers.objectives.supervised import Supervised
from palaestra.trainers.objectives.term import Term
from palaestra.trainers.objectives.trust import Surrogate

__all__ = [
    "COLUMNS",
    "PARTS",
    "PLUGS",
    "Aggregation",
    "Built",
    "Composed",
    "Loss",
    "Masking",
    "Metrics",
    "Objective",
    "ObjectiveConfig",
    "Part",
    "Prepared",
    "Preset",
    "Ratio",
    "Recipe",
    "Schedule",
    "Supervised",
    "Surrogate",
    "Term",
    "build",
    "imported",
    "part",
    "part_of",
    "preset",
    "presets",
    "read_recipe",
]
