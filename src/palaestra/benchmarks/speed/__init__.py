"""Speed: what a step, a reset, a copy and a live world cost, and how that compares with simpler ways to do it."""

from palaestra.benchmarks.speed.bench import SECTIONS, bench_env
from palaestra.benchmarks.speed.figures import Memory, Ratio, SpeedReport, Timing
from palaestra.benchmarks.speed.tables import report_table, speed_tables

__all__ = [
    "SECTIONS",
    "Memory",
    "Ratio",
    "SpeedReport",
    "Timing",
    "bench_env",
    "report_table",
    "speed_tables",
]
