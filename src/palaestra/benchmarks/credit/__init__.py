"""Which way of giving credit teaches a world best, from one beginning and for equally many tokens."""

from palaestra.benchmarks.credit.report import credit_markdown, credit_tables
from palaestra.benchmarks.credit.run import METHODS, CreditConfig, CreditResult, compare_methods, material_of

__all__ = [
    "METHODS",
    "CreditConfig",
    "CreditResult",
    "compare_methods",
    "credit_markdown",
    "credit_tables",
    "material_of",
]
