"""The choice of tasks for training: uniform draws, a bandit, Goldilocks and PACED, over families of all worlds."""

from palaestra.trainers.choice.bandit import DecayedRates, bandit_weights
from palaestra.trainers.choice.chooser import DrawInstance, GroupOutcome, TaskChooser, draw_listed
from palaestra.trainers.choice.config import ChoiceConfig, ChoiceRule, InstanceKind
from palaestra.trainers.choice.families import TaskFamily, feature_matrix, group_families
from palaestra.trainers.choice.goldilocks import UtilityPredictor, solve_utility
from palaestra.trainers.choice.paced import PartitionHead
from palaestra.trainers.choice.picking import pick_best, pick_weighted

__all__ = [
    "ChoiceConfig",
    "ChoiceRule",
    "DecayedRates",
    "DrawInstance",
    "GroupOutcome",
    "InstanceKind",
    "PartitionHead",
    "TaskChooser",
    "TaskFamily",
    "UtilityPredictor",
    "bandit_weights",
    "draw_listed",
    "feature_matrix",
    "group_families",
    "pick_best",
    "pick_weighted",
    "solve_utility",
]
