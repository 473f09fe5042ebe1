"""Checks that engine, learner and transformers give equal results for the same tokens, on a device and on a processor.

Axes: B sequences, T tokens.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from palaestra.benchmarks.gpu.figures import ContactFigure
from palaestra.benchmarks.gpu.scale import ContactScale
from palaestra.benchmarks.mismatch import FLOW_PAIRS, FlowPair, MismatchScale, measure_mismatch
from palaestra.benchmarks.speed.training.drawing import EngineDraws
from palaestra.benchmarks.speed.training.models import Transformers, make_peaked_decoder
from palaestra.benchmarks.speed.training.scale import EngineScale
from palaestra.errors import ConfigError
from palaestra.seeding import Stream
from palaestra.trainers.data.flatten import flatten_tokens
from palaestra.trainers.device import resolve_precision
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.model.checkpoint import save_decoder
from palaestra.trainers.model.decoder import Decoder
from palaestra.trajectory import Span, Tokens

_EXACT = 2e-3
"""Maximum difference in nats that two orders of summation in single precision explain."""
_HALF = 0.1
"""Maximum mean difference in nats per token that bfloat16 explains with peaked weights."""
_QUANTISED = 0.5
"""The same for E4M3; a processor measures 0.10 to 0.18 (docs/precision.md)."""


def check_parity(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Compare log-probabilities: engine with learner by flow, learner with transformers and a processor; batches."""
    yield from _flows(device, scale)
    model = make_peaked_decoder(scale.shape)
    yield from _judges(model, device, scale)
    yield from _batches(model, device, scale)


def _flows(device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    pairs = [pair for pair in FLOW_PAIRS if not pair.invariant and _has_products(pair, device)]
    drawn = MismatchScale(
        tokens=scale.rows * scale.new,
        rounds=1,
        shape=scale.shape,
        group_size=min(8, scale.rows),
        prompt=scale.prompt,
        turn=scale.new // 2,
        rows=scale.rows,
    )
    for found in measure_mismatch(pairs, drawn, device=device):
        engine, _ = found.pair.flows
        limit = _EXACT if engine.states == torch.float32 else _HALF
        if engine.operands is not None or engine.rounds_keys_and_values:
            limit = _QUANTISED
        name = f"{found.pair.name}, {found.tokens:,} tokens"
        yield ContactFigure(name=f"{name}: mean", value=found.mismatch["mismatch/mean"], unit="nats", at_most=limit)
        yield ContactFigure(name=f"{name}: max", value=found.mismatch["mismatch/max"], unit="nats")


def _has_products(pair: FlowPair, device: torch.device) -> bool:
    """Whether the device supports products in the precision of the rollouts; training is never less precise."""
    try:
        resolve_precision(pair.rollouts.precision, str(device))
    except ConfigError:
        return False
    return True


def _judges(model: Decoder, device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    ids_BT = _sequences(scale)
    new = scale.new
    config = LearnerConfig(lr=1.0, micro_tokens=scale.micro_tokens)
    batch = flatten_tokens([_tokens(ids, new) for ids in ids_BT.tolist()])
    here = Learner(model, config).logprobs(batch).logp[batch.trained_T].view(len(ids_BT), new)
    there = Learner(model.to(device), config).logprobs(batch).logp[batch.trained_T].view(len(ids_BT), new)
    yield from _apart("learner, fp32: device against processor", there, here, _EXACT)
    with TemporaryDirectory(prefix="palaestra-gpu-") as folder:
        save_decoder(model, Path(folder))
        judge = Transformers(Path(folder), dtype=torch.float32, device=device)
        said = judge.logprobs(ids_BT, new).cpu()
    yield from _apart("learner against transformers, fp32", there, said, _EXACT)


def _apart(name: str, some: Tensor, others: Tensor, limit: float) -> Iterator[ContactFigure]:
    off = (some - others).abs()
    yield ContactFigure(name=f"{name}: mean", value=float(off.mean()), unit="nats", at_most=limit)
    yield ContactFigure(name=f"{name}: max", value=float(off.max()), unit="nats")


def _batches(model: Decoder, device: torch.device, scale: ContactScale) -> Iterator[ContactFigure]:
    """Measure the share of sequences that a free flow samples to equal tokens alone and in a batch; it has no bound."""
    together = asyncio.run(_draw(model, device, scale, scale.rows))
    alone = asyncio.run(_draw(model, device, scale, 1))
    equal = sum(one == other for one, other in zip(alone, together, strict=False)) / len(alone)
    yield ContactFigure(name=f"bf16, free: sequences equal at 1 and at {scale.rows} rows", value=equal, unit="share")


async def _draw(model: Decoder, device: torch.device, scale: ContactScale, rows: int) -> list[tuple[int, ...]]:
    config = NativeConfig(
        rows=rows,
        context=scale.places,
        capacity=scale.rows * scale.places,
        precision="bf16",
        device=str(device),
        prefill=8192,
    )
    engine = NativeEngine(model, config)
    sequences = scale.rows if rows > 1 else scale.judged
    work = EngineScale(shape=scale.shape, sequences=sequences, prompt=scale.prompt, new=scale.new)
    draws = EngineDraws(engine, work)
    await draws(0)
    await engine.close()
    return [completion.ids for _, completion in draws.drawn]


def _sequences(scale: ContactScale) -> Tensor:
    """Random sequences that are the same in every process, [B, T]."""
    stream = Stream.root("gpu", "parity")
    length = scale.prompt + scale.new
    rows = [[stream.below(scale.shape.vocabulary) for _ in range(length)] for _ in range(scale.judged)]
    return torch.tensor(rows)


def _tokens(ids: list[int], new: int) -> Tokens:
    before = len(ids) - new
    return Tokens(
        ids=tuple(ids),
        sampled=(*[False] * before, *[True] * new),
        logprobs=(0.0,) * len(ids),
        versions=(0,) * len(ids),
        spans=(Span(kind="turn", start=before, end=len(ids)),),
        stops=("length",),
    )
