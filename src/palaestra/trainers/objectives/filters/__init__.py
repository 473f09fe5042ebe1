"""Filters, which choose the trajectories to train on before anything is compared."""

from palaestra.trainers.objectives.filters.mixed import mixed_groups
from palaestra.trainers.objectives.filters.places import ranks
from palaestra.trainers.objectives.filters.prof import Prof
from palaestra.trainers.objectives.filters.rank import Rank
from palaestra.trainers.objectives.filters.repo import RephrasedSolutions
from palaestra.trainers.objectives.filters.uncertain import UncertainGroups, keep_groups

__all__ = ["Prof", "Rank", "RephrasedSolutions", "UncertainGroups", "keep_groups", "mixed_groups", "ranks"]
