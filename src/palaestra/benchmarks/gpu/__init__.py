"""The first contact with a GPU: does what runs on a processor run there, is it the same, and what does it take.

Needs the extra `train`. Each check runs in a process of its own: one that crashes or hangs costs its own result alone.
It runs from the source tree without installation, with torch 2.11 or later and transformers 5.17 or later:
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
