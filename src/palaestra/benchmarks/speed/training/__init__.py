"""The cost of sampling, training and waiting for tools, beside other implementations of the same work.

It needs the extra `train`. Tables show figures beside their targets; a run never fails for missing a target, because
machines differ.
"""

from palaestra.benchmarks.speed.training.asynchrony import bench_async
from palaestra.benchmarks.speed.training.engine import bench_engine
from palaestra.benchmarks.speed.training.figures import SpeedComparison, SpeedSection, TrainingReport, WorkRate
from palaestra.benchmarks.speed.training.machine import device_of
from palaestra.benchmarks.speed.training.replicas import bench_replicas
from palaestra.benchmarks.speed.training.saves import (
    SAVES_FULL,
    SAVES_QUICK,
    SaveCosts,
    SavesReport,
    bench_saves,
    saves_markdown,
    saves_table,
)
from palaestra.benchmarks.speed.training.scale import TrainingScale, scale_of
from palaestra.benchmarks.speed.training.tables import training_markdown, training_tables
from palaestra.benchmarks.speed.training.train import bench_train

__all__ = [
    "SAVES_FULL",
    "SAVES_QUICK",
    "SaveCosts",
    "SavesReport",
    "SpeedComparison",
    "SpeedSection",
    "TrainingReport",
    "TrainingScale",
    "WorkRate",
    "bench_async",
    "bench_engine",
    "bench_replicas",
    "bench_saves",
    "bench_train",
    "device_of",
    "saves_markdown",
    "saves_table",
    "scale_of",
    "training_markdown",
    "training_tables",
]
