"""Which engines `palaestra bench engine` lets draw: vLLM in each of its modes, each under its own name."""

from pathlib import Path

import pytest
import torch

from palaestra.benchmarks.speed.training import bench_engine, engine
from palaestra.benchmarks.speed.training.engines import native
from palaestra.benchmarks.speed.training.models import make_peaked_decoder
from palaestra.benchmarks.speed.training.scale import EngineScale, TrainingScale
from palaestra.trainers.engines.native.engine import NativeEngine
from palaestra.trainers.learner import Precision


def test_vllm_is_measured_in_both_of_its_modes(scale: TrainingScale, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[tuple[Precision, bool]] = []

    async def stand_in(
        folder: Path, python: Path, scale: EngineScale, precision: Precision, *, eager: bool
    ) -> NativeEngine:
        del folder, python
        modes.append((precision, eager))
        return native(make_peaked_decoder(scale.shape), scale, precision, torch.device("cpu"))

    monkeypatch.setattr(engine, "vllm", stand_in)
    report = bench_engine(torch.device("cpu"), scale=scale.engine, vllm_python=Path("python"))
    assert modes == [("fp32", True), ("fp32", False), ("bf16", True), ("bf16", False)]
    for section in report.sections:
        ratios = [one.name for one in section.comparisons if "over vLLM" in one.name]
        assert ratios == [
            f"native, {precision}, over vLLM {mode}, {precision}{by}"
            for precision in ("fp32", "bf16")
            for mode in ("eager", "compiled")
            for by in ("", ", by processor time")
        ]
