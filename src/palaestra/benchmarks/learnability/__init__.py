"""Measures whether a rendering shows what decides: imitators without gradient training, built from it and played."""

from palaestra.benchmarks.learnability.demonstrations import Demonstration
from palaestra.benchmarks.learnability.imitator import Imitator
from palaestra.benchmarks.learnability.measure import (
    FamilyLearnability,
    demonstrate,
    learnability_table,
    measure_learnability,
    play_imitator,
)

__all__ = [
    "Demonstration",
    "FamilyLearnability",
    "Imitator",
    "demonstrate",
    "learnability_table",
    "measure_learnability",
    "play_imitator",
]
