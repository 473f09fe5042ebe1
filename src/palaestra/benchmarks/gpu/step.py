"""One round of training at full size: sampling, a step, and the transfer of weights; the time and memory of each."""

import asyncio
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from palaestra.benchmarks.gpu.figures import ContactFigure
from palaestra.benchmarks.gpu.scale import ContactScale
from palaestra.benchmarks.speed.training.drawing import EngineDraws
from palaestra.benchmarks.speed.training.learners import LearnerStep
from palaestra.benchmarks.speed.training.limits import Products, synchronise
from palaestra.benchmarks.speed.training.models import make_peaked_decoder
from palaestra.benchmarks.speed.training.scale import EngineScale, TrainScale
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.learner.config import LoraConfig
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.objectives import ComposedObjective

_WARM = 2
_TIMED = 3


@dataclass(slots=True)
class _Cost:
    seconds: float = 0.0
    peak: int = 0
    """Peak memory in bytes."""


def check_step(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Measure tokens per second and peak memory of sampling and of a step, by layout, checkpointing and adapters."""
    model = make_peaked_decoder(scale.shape).to(device)
    yield from _drawing(model, device, scale)
    rows = max(2, scale.micro_tokens // 1024)
    work = LearnerStep(
        TrainScale(
            shape=scale.shape,
            groups=rows // 2,
            group_size=2,
            prompt=min(512, scale.micro_tokens // rows // 2),
            shortest=scale.micro_tokens // rows // 2,
            longest=scale.micro_tokens // rows // 2,
            micro_tokens=scale.micro_tokens,
        )
    )
    products = Products(scale.shape, dtype=torch.bfloat16, device=device)
    ideal = work.tokens / (3 * products.seconds(work.tokens, scored=work.trained_tokens))
    yield ContactFigure(name="the products of a step alone", value=ideal, unit="tokens/s")
    usual = LearnerConfig(lr=1e-6, micro_tokens=scale.micro_tokens, precision="bf16")
    for name, config in {
        "packed": usual,
        "packed, checkpointing": replace(usual, checkpointing=True),
        "shared": replace(usual, layout="shared"),
        "packed, LoRA": replace(usual, lora=LoraConfig()),
    }.items():
        yield from _training(name, model, work, config, device, ideal)


def _drawing(model: Decoder, device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    async def work() -> tuple[_Cost, _Cost]:
        drawn = EngineScale(shape=scale.shape, sequences=scale.rows, prompt=scale.prompt, new=scale.new)
        config = NativeConfig(
            rows=scale.rows, context=scale.places, capacity=scale.rows * scale.places, precision="bf16", prefill=8192
        )
        engine = NativeEngine(model, config)
        draws = EngineDraws(engine, drawn)
        await draws(0)  # captures the graphs
        with _measure(device) as drawing:
            await draws(1)
        weights = dict(model.named_parameters())
        with _measure(device) as update:
            await engine.update_weights(weights, 1)
        await engine.close()
        return drawing, update

    drawing, update = asyncio.run(work())
    tokens = scale.rows * scale.new
    yield ContactFigure(name=f"draw: {scale.rows} x {scale.new} tokens behind {scale.prompt}",
                        value=tokens / drawing.seconds, unit="tokens/s")  # fmt: skip
    yield ContactFigure(name="draw: a step of all rows, prompts included", value=drawing.seconds / scale.new * 1e3,
                        unit="ms")  # fmt: skip
    yield ContactFigure(name="draw: peak memory", value=drawing.peak / 2**30, unit="GiB")
    yield ContactFigure(name="weights: learner to engine", value=update.seconds * 1e3, unit="ms")


def _training(
    name: str, model: Decoder, work: LearnerStep, config: LearnerConfig, device: torch.device, ideal: float
) -> Iterator[ContactFigure]:
    learner = Learner(model, config)
    prepared = ComposedObjective().prepare(work.batch)
    for _ in range(_WARM):
        learner.step(prepared, lr=0.0)
    with _measure(device) as cost:
        metrics = [learner.step(prepared, lr=0.0) for _ in range(_TIMED)][-1]
    rate = _TIMED * work.tokens / cost.seconds
    yield ContactFigure(name=f"step, {name}: {work.tokens:,} tokens", value=rate, unit="tokens/s")
    yield ContactFigure(name=f"step, {name}: share of the products' limit", value=rate / ideal, unit="share")
    yield ContactFigure(name=f"step, {name}: peak memory", value=cost.peak / 2**30, unit="GiB")
    yield ContactFigure(name=f"step, {name}: gradient norm", value=metrics["gradient_norm"], unit="", at_least=1e-9)


@contextmanager
def _measure(device: torch.device) -> Generator[_Cost]:
    cost = _Cost()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    synchronise(device)
    begun = time.perf_counter()
    yield cost
    synchronise(device)
    cost.seconds = time.perf_counter() - begun
    cost.peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
