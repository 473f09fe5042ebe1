"""A small benchmark of our own, served as those of others are: it counts, and breaks in every way on demand."""

from pathlib import Path

from palaestra.benchmarks.external import Benchmark, Installation

TOY_ID = "test/Toy-v0"
TOY = Benchmark(
    name="toy",
    env_id=TOY_ID,
    title="Toy",
    version="1",
    licence="Apache-2.0",
    source="these tests",
    installation=Installation(),
    splits={"test": "to be measured on", "train": "to learn from"},
    trainable=("train",),
    options={"slow_start": 0, "broken_start": False, "twice": False, "goldless": "", "broken": ""},
    module="outside.served",
    root=Path(__file__).parents[1],
)
