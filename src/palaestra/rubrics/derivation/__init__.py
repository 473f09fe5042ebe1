"""Rubrics derived from runs that solve a task, for tasks without an expert."""

from palaestra.rubrics.derivation.derive import DerivedRubric, derive
from palaestra.rubrics.derivation.runs import SolutionTrace, TableFacts, Tables, TraceStep

__all__ = ["DerivedRubric", "SolutionTrace", "TableFacts", "Tables", "TraceStep", "derive"]
