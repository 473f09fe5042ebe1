"""Rubrics derived from runs that solve a task, for tasks without an expert."""

from palaestra.rubrics.derivation.derive import Derived, derive
from palaestra.rubrics.derivation.runs import Deed, Run, Table, Tables

__all__ = ["Deed", "Derived", "Run", "Table", "Tables", "derive"]
