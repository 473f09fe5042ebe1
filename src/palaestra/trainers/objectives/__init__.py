"""Training objectives: composable parts, as pure functions on a `TokenBatch`."""

from palaestra.trainers.objectives.aggregation import Aggregation
from palaestra.trainers.objectives.build import BuiltObjective, ObjectiveConfig, build, import_parts, read_recipe
from palaestra.trainers.objectives.columns import COLUMNS, BatchColumn
from palaestra.trainers.objectives.compatible import corrects_stale
from palaestra.trainers.objectives.composed import ComposedObjective, Masking
from palaestra.trainers.objectives.constants import constants
from palaestra.trainers.objectives.objective import Loss, Metrics, Objective, PreparedStep
from palaestra.trainers.objectives.part import PARTS, PLUGS, Part, part, part_of
from palaestra.trainers.objectives.ratio import RatioConfig
from palaestra.trainers.objectives.recipe import Recipe, UpdateSchedule
from palaestra.trainers.objectives.supervised import SupervisedObjective
from palaestra.trainers.objectives.term import Term
from palaestra.trainers.objectives.trust import Surrogate
from palaestra.trainers.presets import Preset, preset, presets

__all__ = [
    "COLUMNS",
    "PARTS",
    "PLUGS",
    "Aggregation",
    "BatchColumn",
    "BuiltObjective",
    "ComposedObjective",
    "Loss",
    "Masking",
    "Metrics",
    "Objective",
    "ObjectiveConfig",
    "Part",
    "PreparedStep",
    "Preset",
    "RatioConfig",
    "Recipe",
    "SupervisedObjective",
    "Surrogate",
    "Term",
    "UpdateSchedule",
    "build",
    "constants",
    "corrects_stale",
    "import_parts",
    "part",
    "part_of",
    "preset",
    "presets",
    "read_recipe",
]
