"""Checks for a first run on a GPU: that code for processors runs there with equal results, and its cost.

It needs the extra `train`. Each check runs in a process of its own, so that a crash or hang affects only its own
result. It runs from the source tree without installation, with torch 2.11 or later and transformers 5.17 or later:
`PYTHONPATH=src python -m palaestra bench gpu`.
"""

from palaestra.benchmarks.gpu.checks import CHECKS, ContactCheck
from palaestra.benchmarks.gpu.contact import ContactReport, run_check, run_contact
from palaestra.benchmarks.gpu.figures import CheckResult, ContactFigure
from palaestra.benchmarks.gpu.scale import ContactScale, contact_scale
from palaestra.benchmarks.gpu.tables import contact_markdown, contact_tables

__all__ = [
    "CHECKS",
    "CheckResult",
    "ContactCheck",
    "ContactFigure",
    "ContactReport",
    "ContactScale",
    "contact_markdown",
    "contact_scale",
    "contact_tables",
    "run_check",
    "run_contact",
]
