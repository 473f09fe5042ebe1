"""Branching: further trajectories continue from the middle of those of groups that solved nothing."""

from palaestra.trainers.branching.brancher import Brancher, PlannedBranch, is_solved, with_branches
from palaestra.trainers.branching.config import BranchingConfig, GrpoBranchingConfig
from palaestra.trainers.branching.pivots import Pivot, best_pivot, first_naming, naming_pivot, recoverable_pivot
from palaestra.trainers.branching.recoverability import RecoveryModel, RecoveryOdds, fit_odds, pivot_weights

__all__ = [
    "Brancher",
    "BranchingConfig",
    "GrpoBranchingConfig",
    "Pivot",
    "PlannedBranch",
    "RecoveryModel",
    "RecoveryOdds",
    "best_pivot",
    "first_naming",
    "fit_odds",
    "is_solved",
    "naming_pivot",
    "pivot_weights",
    "recoverable_pivot",
    "with_branches",
]
