"""Speed benchmarks: the cost of steps, resets, copies and live worlds, and comparisons with other implementations."""

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
