"""What is wrong with a run and what to change, in sentences, the most important first."""

from palaestra.benchmarks.diagnosis.findings.finding import TrainingFinding
from palaestra.benchmarks.diagnosis.findings.ranking import MOST, find_causes, headline

__all__ = ["MOST", "TrainingFinding", "find_causes", "headline"]
