from collections.abc import Iterator
from pathlib import Path

import pytest

from decoders import tiny
from engines.bench import Bench, Harness
from engines.conformance import CLAIMS, Claim
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.model.checkpoint import load_decoder

SHAPE = tiny(context=192)


def made(folder: Path) -> NativeEngine:
    return NativeEngine(load_decoder(folder), NativeConfig(rows=8, capacity=2_000, prefill=64))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    harness = Harness(make=made, shape=SHAPE, tolerance=1e-4, takes_noise=True, tells_resident=True)
    bench = Bench(harness, tmp_path_factory.mktemp("checkpoint"))
    yield bench
    bench.close()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_it_keeps_what_every_engine_must(bench: Bench, claim: Claim) -> None:
    bench.check(claim)
