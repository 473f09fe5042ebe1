"""Uncertainty of figures: units of resampling, estimates with intervals, tests, and a simulation of their coverage."""

if __name__ != "palaestra.benchmarks.statistics":
    raise ImportError(
        f"this folder is palaestra.benchmarks.statistics, not {__name__}; write `import "
        "palaestra.benchmarks.statistics`"
    )

from palaestra.benchmarks.statistics.coverage import FULL, QUICK, CoverageScale, coverage_table, simulate_coverage
from palaestra.benchmarks.statistics.estimates import (
    FEWEST,
    MeanEstimate,
    estimate_mean,
    estimate_share,
    independent_difference,
    paired_difference,
)
from palaestra.benchmarks.statistics.significance import holm, sign_flip_p
from palaestra.benchmarks.statistics.units import Observation, Unit, unit_means

__all__ = [
    "FEWEST",
    "FULL",
    "QUICK",
    "CoverageScale",
    "MeanEstimate",
    "Observation",
    "Unit",
    "coverage_table",
    "estimate_mean",
    "estimate_share",
    "holm",
    "independent_difference",
    "paired_difference",
    "sign_flip_p",
    "simulate_coverage",
    "unit_means",
]
