"""Differences of log-probabilities between engine and learner with equal weights, by flow; the cost of equality.

It needs the extra `train`.
"""

from palaestra.benchmarks.mismatch.flows import FLOW_PAIRS, FlowPair, find_flow_pairs
from palaestra.benchmarks.mismatch.measure import MismatchFigures, MismatchScale, measure_mismatch
from palaestra.benchmarks.mismatch.tables import mismatch_markdown, mismatch_tables

__all__ = [
    "FLOW_PAIRS",
    "FlowPair",
    "MismatchFigures",
    "MismatchScale",
    "find_flow_pairs",
    "measure_mismatch",
    "mismatch_markdown",
    "mismatch_tables",
]
