"""Losses of whole trajectories, in place of ratio, trust region, corrections and masks."""

from palaestra.trainers.objectives.whole.balance import FlowRl, Paced
from palaestra.trainers.objectives.whole.kto import Kto
from palaestra.trainers.objectives.whole.oapl import Oapl, soft_best
from palaestra.trainers.objectives.whole.objective import Learning, Whole, lengths, mean_trained, sum_trained
from palaestra.trainers.objectives.whole.pairs import Pairs, best_and_worst, shown_and_own
from palaestra.trainers.objectives.whole.partition import Mlp, Partition, Table, partition
from palaestra.trainers.objectives.whole.preference import Dpo, Ipo, Spin
from palaestra.trainers.objectives.whole.sppo import Sppo, win_rates

__all__ = [
    "Dpo",
    "FlowRl",
    "Ipo",
    "Kto",
    "Learning",
    "Mlp",
    "Oapl",
    "Paced",
    "Pairs",
    "Partition",
    "Spin",
    "Sppo",
    "Table",
    "Whole",
    "best_and_worst",
    "lengths",
    "mean_trained",
    "partition",
    "shown_and_own",
    "soft_best",
    "sum_trained",
    "win_rates",
]
