"""Benchmarks that others wrote, each behind the project's own contract and under an interpreter of its own."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.catalogue import BENCHMARKS, benchmark_of
from palaestra.benchmarks.external.env import ExternalEnv
from palaestra.benchmarks.external.installation import Checkout, Installation, Installed, Packages, install, installed

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "Checkout",
    "ExternalEnv",
    "Installation",
    "Installed",
    "Packages",
    "benchmark_of",
    "install",
    "installed",
]
