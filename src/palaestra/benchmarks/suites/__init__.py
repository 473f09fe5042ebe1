"""Suites for evaluations: Palaestra's worlds, ladders of shift, external benchmarks."""

from palaestra.benchmarks.suites.catalogue import SUITES, SuiteOptions, suite_of

__all__ = ["SUITES", "SuiteOptions", "suite_of"]
