"""Diagnosis of a training run from its records: findings in sentences, with the figures that support them."""

from palaestra.benchmarks.diagnosis.diagnosis import Diagnosis, diagnose
from palaestra.benchmarks.diagnosis.document import diagnosis_document
from palaestra.benchmarks.diagnosis.findings import MOST, TrainingFinding, find_causes, headline
from palaestra.benchmarks.diagnosis.page import diagnosis_page
from palaestra.benchmarks.diagnosis.tables import diagnosis_tables

__all__ = [
    "MOST",
    "Diagnosis",
    "TrainingFinding",
    "diagnose",
    "diagnosis_document",
    "diagnosis_page",
    "diagnosis_tables",
    "find_causes",
    "headline",
]
