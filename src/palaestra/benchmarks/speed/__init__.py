"""Speed: what a step, a reset, a copy and a live world cost, and how that compares with other ways to do it."""

from palaestra.benchmarks.speed.bench import SECTIONS, bench_env
from palaestra.benchmarks.speed.figures import (
    EnvironmentMemory,
    MissingFigure,
    ProcessMemory,
    SpeedReport,
    Throughput,
    TimeRatio,
    Timing,
)
from palaestra.benchmarks.speed.scale import FULL, QUICK, Scale
from palaestra.benchmarks.speed.tables import report_table, speed_markdown, speed_tables

__all__ = [
    "FULL",
    "QUICK",
    "SECTIONS",
    "EnvironmentMemory",
    "MissingFigure",
    "ProcessMemory",
    "Scale",
    "SpeedReport",
    "Throughput",
    "TimeRatio",
    "Timing",
    "bench_env",
    "report_table",
    "speed_markdown",
    "speed_tables",
]
