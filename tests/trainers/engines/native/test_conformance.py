from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from decoders import tiny
from engines.bench import Bench, Harness
from engines.conformance import CLAIMS, Claim
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.model.checkpoint import load_decoder

KERNELS = tiny(context=192, head_dim=16)
SHAPES = {"plain": tiny(context=192), "kernels": KERNELS, "invariant": KERNELS}
"""There are kernels for heads of some sizes only."""


def made(folder: Path, *, invariant: bool) -> NativeEngine:
    config = NativeConfig(rows=8, capacity=2_000, prefill=64, invariant=invariant)
    return NativeEngine(load_decoder(folder), config)


@pytest.fixture(scope="module", params=SHAPES)
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    harness = Harness(
        make=partial(made, invariant=request.param == "invariant"),
        shape=SHAPES[request.param],
        tolerance=1e-4,
        takes_noise=True,
        tells_resident=True,
    )
    bench = Bench(harness, tmp_path_factory.mktemp("checkpoint"))
    yield bench
    bench.close()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_it_keeps_what_every_engine_must(bench: Bench, claim: Claim) -> None:
    bench.check(claim)
