"""Losses of whole trajectories, instead of ratio, trust region, corrections and masks."""

from palaestra.trainers.objectives.whole.balance import FlowRl, PacedRl
from palaestra.trainers.objectives.whole.kto import Kto
from palaestra.trainers.objectives.whole.oapl import Oapl, soft_best
from palaestra.trainers.objectives.whole.objective import (
    LearnableLoss,
    WholeTrajectoryObjective,
    lengths,
    token_sum,
    trajectory_mean,
)
from palaestra.trainers.objectives.whole.pairs import Pairs, best_and_worst, demonstration_pairs
from palaestra.trainers.objectives.whole.partition import MlpPartition, Partition, TablePartition, partition
from palaestra.trainers.objectives.whole.preference import Dpo, Ipo, Spin
from palaestra.trainers.objectives.whole.sppo import Sppo, win_rates

__all__ = [
    "Dpo",
    "FlowRl",
    "Ipo",
    "Kto",
    "LearnableLoss",
    "MlpPartition",
    "Oapl",
    "PacedRl",
    "Pairs",
    "Partition",
    "Spin",
    "Sppo",
    "TablePartition",
    "WholeTrajectoryObjective",
    "best_and_worst",
    "demonstration_pairs",
    "lengths",
    "partition",
    "soft_best",
    "token_sum",
    "trajectory_mean",
    "win_rates",
]
