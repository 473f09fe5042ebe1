"""Measures how much held-out requests differ in wording from training requests, and whether they stay clear."""

if __name__ != "palaestra.benchmarks.wording":
    raise ImportError(
        f"this folder is palaestra.benchmarks.wording, not {__name__}; write `import palaestra.benchmarks.wording`"
    )

from palaestra.benchmarks.wording.classifiers import NaiveBayes, RidgeClassifier, accuracy
from palaestra.benchmarks.wording.kinds import recognise_kind
from palaestra.benchmarks.wording.measure import WordingReport, measure_wordings, wording_tables
from palaestra.benchmarks.wording.overlap import closest_overlaps, jaccard, shingles
from palaestra.benchmarks.wording.texts import RequestText, request_texts

__all__ = [
    "NaiveBayes",
    "RequestText",
    "RidgeClassifier",
    "WordingReport",
    "accuracy",
    "closest_overlaps",
    "jaccard",
    "measure_wordings",
    "recognise_kind",
    "request_texts",
    "shingles",
    "wording_tables",
]
