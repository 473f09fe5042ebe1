"""The cost of a served step: in process, through Palaestra's server and through peers, in one run."""

from palaestra.benchmarks.speed.served.figures import SampleRange, ServedReport, ServedRow, ServedSample, ServedScale
from palaestra.benchmarks.speed.served.rounds import bench_served
from palaestra.benchmarks.speed.served.tables import served_table

__all__ = [
    "SampleRange",
    "ServedReport",
    "ServedRow",
    "ServedSample",
    "ServedScale",
    "bench_served",
    "served_table",
]
