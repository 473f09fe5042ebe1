"""Objectives on toys: a table instead of a model, with the same passes and updates; it takes seconds on a processor."""

from palaestra.benchmarks.objectives.bandit import Bandit
from palaestra.benchmarks.objectives.copying import Copying
from palaestra.benchmarks.objectives.dependency import Dependency
from palaestra.benchmarks.objectives.junction import Junction
from palaestra.benchmarks.objectives.offpolicy import FULL, QUICK, OffPolicyReport, OffPolicyScale, bench_objectives
from palaestra.benchmarks.objectives.planning import Planning
from palaestra.benchmarks.objectives.report import (
    objectives_markdown,
    objectives_panels,
    objectives_png,
    objectives_tables,
)
from palaestra.benchmarks.objectives.table import PolicyTable
from palaestra.benchmarks.objectives.toy import Toy
from palaestra.benchmarks.objectives.training import ToyResult, ToyTraining, train_toy

__all__ = [
    "FULL",
    "QUICK",
    "Bandit",
    "Copying",
    "Dependency",
    "Junction",
    "OffPolicyReport",
    "OffPolicyScale",
    "Planning",
    "PolicyTable",
    "Toy",
    "ToyResult",
    "ToyTraining",
    "bench_objectives",
    "objectives_markdown",
    "objectives_panels",
    "objectives_png",
    "objectives_tables",
    "train_toy",
]
