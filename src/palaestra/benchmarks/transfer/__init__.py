"""Measures whether training in more generated worlds improves results in worlds not trained in, at equal tokens."""

from palaestra.benchmarks.transfer.cells import (
    TransferCell,
    TransferKey,
    read_cells,
    run_cell,
    transfer_settings,
)
from palaestra.benchmarks.transfer.config import WORLDS, TransferConfig
from palaestra.benchmarks.transfer.floors import TransferFloors, measure_floors
from palaestra.benchmarks.transfer.groups import GROUPS, TransferGroup, training_world, transfer_groups
from palaestra.benchmarks.transfer.likelihood import TurnLikelihood, score_solutions
from palaestra.benchmarks.transfer.report import transfer_tables

__all__ = [
    "GROUPS",
    "WORLDS",
    "TransferCell",
    "TransferConfig",
    "TransferFloors",
    "TransferGroup",
    "TransferKey",
    "TurnLikelihood",
    "measure_floors",
    "read_cells",
    "run_cell",
    "score_solutions",
    "training_world",
    "transfer_groups",
    "transfer_settings",
    "transfer_tables",
]
