"""What agents are evaluated on: worlds of ours, ladders of shift, benchmarks that others wrote."""

from palaestra.benchmarks.suites.catalogue import SUITES, SuiteOptions, suite_of

__all__ = ["SUITES", "SuiteOptions", "suite_of"]
