"""Measurements: evaluations, suites, the demo, the record of results, the viewer, speed."""

if __name__ != "palaestra.benchmarks":
    raise ImportError(f"this folder is palaestra.benchmarks, not {__name__}; write `import palaestra.benchmarks`")
