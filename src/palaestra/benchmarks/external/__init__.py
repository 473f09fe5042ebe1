"""External benchmarks, each with Palaestra's environment interface and its own interpreter."""

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.catalogue import BENCHMARKS, benchmark_of
from palaestra.benchmarks.external.env import ExternalEnv
from palaestra.benchmarks.external.installation import (
    Installation,
    InstalledBenchmark,
    Packages,
    SourceCheckout,
    find_installed,
    install,
)

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "ExternalEnv",
    "Installation",
    "InstalledBenchmark",
    "Packages",
    "SourceCheckout",
    "benchmark_of",
    "find_installed",
    "install",
]
