"""Replicas are one engine: they keep what every engine must."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from decoders import tiny
from engines.bench import Bench, Harness
from engines.conformance import CLAIMS, Claim
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.replicas import ReplicaEngine, ReplicasConfig
from palaestra.trainers.model.checkpoint import load_decoder

SHAPE = tiny(context=384, head_dim=16)


def make_replicas(folder: Path) -> ReplicaEngine:
    config = NativeConfig(rows=8, capacity=2_000, prefill=64)
    return ReplicaEngine(load_decoder(folder), config, ReplicasConfig(count=2))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    harness = Harness(
        make=make_replicas, shape=SHAPE, tolerance=1e-4, takes_noise=True, tells_resident=False, patience=120.0
    )
    bench = Bench(harness, tmp_path_factory.mktemp("checkpoint"))
    yield bench
    bench.close()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_it_keeps_what_every_engine_must(bench: Bench, claim: Claim) -> None:
    bench.check(claim)
