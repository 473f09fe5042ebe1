"""How it is measured: proofs of tasks, the demo, the viewer, speed."""

if __name__ != "palaestra.benchmarks":
    raise ImportError(f"this folder is palaestra.benchmarks, not {__name__}; write `import palaestra.benchmarks`")
