"""The suite itself: every claim can be broken. That sound engines keep them all, each engine's own tests show."""

from contextlib import closing
from pathlib import Path

import pytest

from decoders import tiny
from engines.bench import Bench, Harness
from engines.conformance import CLAIMS, Claim
from engines.faulty import FAULTS
from palaestra.trainers.engines.engine import Engine
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.model.checkpoint import load_decoder


def test_there_is_a_fault_for_every_claim() -> None:
    assert set(FAULTS) == {claim.__name__ for claim in CLAIMS}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_a_claim_fails_on_an_engine_that_breaks_it(tmp_path: Path, claim: Claim) -> None:
    def made(folder: Path) -> Engine:
        return FAULTS[claim.__name__](NativeEngine(load_decoder(folder), NativeConfig(rows=8, capacity=1_000)))

    harness = Harness(
        make=made, shape=tiny(context=192), tolerance=1e-4, takes_noise=True, tells_resident=True, patience=3.0
    )
    with closing(Bench(harness, tmp_path)) as bench, pytest.raises((Exception, pytest.fail.Exception)):
        bench.check(claim)
