"""Findings: defects of a run and their remedies, in sentences, the most important first."""

from palaestra.benchmarks.diagnosis.findings.finding import TrainingFinding
from palaestra.benchmarks.diagnosis.findings.ranking import MOST, find_causes, headline

__all__ = ["MOST", "TrainingFinding", "find_causes", "headline"]
