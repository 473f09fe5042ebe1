"""Where benchmarks are installed for the tests, and the tasks of those with one contract."""

import os
from pathlib import Path

from acting import generate_tests as pytest_generate_tests

os.environ.setdefault("PALAESTRA_BENCHMARKS", str(Path(__file__).parents[3] / ".benchmarks"))

__all__ = ["pytest_generate_tests"]
