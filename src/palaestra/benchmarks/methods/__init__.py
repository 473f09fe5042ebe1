"""Which way of giving credit teaches a world best, from one beginning and for equally many tokens."""

from palaestra.benchmarks.methods.report import methods_markdown, methods_tables
from palaestra.benchmarks.methods.run import METHODS, MethodResult, MethodsConfig, compare_methods, material_of

__all__ = [
    "METHODS",
    "MethodResult",
    "MethodsConfig",
    "compare_methods",
    "material_of",
    "methods_markdown",
    "methods_tables",
]
