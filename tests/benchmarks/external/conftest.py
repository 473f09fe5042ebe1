"""Where benchmarks are installed for the tests."""

import os
from pathlib import Path

os.environ.setdefault("PALAESTRA_BENCHMARKS", str(Path(__file__).parents[3] / ".benchmarks"))
