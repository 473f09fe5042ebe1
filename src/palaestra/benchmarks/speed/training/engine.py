"""`palaestra bench engine`: the cost of a sampled token in the native engine, transformers and vLLM."""

import asyncio
import math
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from palaestra.benchmarks.speed.figures import MissingFigure
from palaestra.benchmarks.speed.processes import processor_seconds
from palaestra.benchmarks.speed.training.contest import METHOD, Contestant, ContestResult, TimedContestant, compete
from palaestra.benchmarks.speed.training.drawing import EngineDraws, TransformersDraws, distance
from palaestra.benchmarks.speed.training.engines import VLLM_COMPILED, VLLM_EAGER, native, vllm
from palaestra.benchmarks.speed.training.figures import SpeedComparison, SpeedSection, TrainingReport, WorkRate
from palaestra.benchmarks.speed.training.limits import Products
from palaestra.benchmarks.speed.training.machine import DTYPES, machine, precisions
from palaestra.benchmarks.speed.training.memory import WeighedContestant, memory_comparisons
from palaestra.benchmarks.speed.training.models import Transformers, make_peaked_decoder
from palaestra.benchmarks.speed.training.scale import EngineScale
from palaestra.benchmarks.speed.training.turns import EngineTurns, TransformersTurns
from palaestra.trainers.engines.engine import Engine
from palaestra.trainers.engines.vllm import VllmEngine
from palaestra.trainers.learner import Precision
from palaestra.trainers.model.checkpoint import save_decoder
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.progress import OpenProgressBar, ProgressBar, silent

NATIVE, TRANSFORMERS = "native", "transformers"
COMPILED = "transformers, static cache, compiled"
AIMS: Mapping[str, float] = {TRANSFORMERS: 2.5, COMPILED: 2.5, VLLM_EAGER: 3.0, VLLM_COMPILED: 1.5}
"""Target speed of the native engine relative to each other engine, sampling in one go."""
TURNS_AIMS: Mapping[str, float] = {**AIMS, TRANSFORMERS: 3.0}
"""The same targets for sampling in turns."""
SECTIONS = ("in one go", "in turns")


def bench_engine(
    device: torch.device,
    *,
    scale: EngineScale,
    vllm_python: Path,
    bar: OpenProgressBar = silent,
) -> TrainingReport:
    """Measure engines that sample from the same weights.

    Args:
        device: The device of the native engine and transformers; vLLM uses the device that it was built for.
        scale: The size of the run.
        vllm_python: The path of an interpreter that has vLLM.
        bar: Opens a progress bar.
    """
    found = machine(device)
    with TemporaryDirectory() as folder, bar("measuring", len(SECTIONS)) as shown:
        sections = asyncio.run(_sections(device, scale, Path(folder), vllm_python, shown))
    return TrainingReport(command="palaestra bench engine", machine=found, setting=asdict(scale), sections=sections)


async def _sections(
    device: torch.device, scale: EngineScale, folder: Path, python: Path, shown: ProgressBar
) -> tuple[SpeedSection, ...]:
    model = make_peaked_decoder(scale.shape)
    save_decoder(model, folder)
    async with AsyncExitStack() as stack:
        field = _Field(device, scale)
        for precision in precisions(device):
            await field.enter(stack, model, folder, python, precision)
        drawn = await compete(field.draws, scale.rounds)
        shown.step(SECTIONS[0])
        played = await compete(field.turns, scale.rounds_in_turns)
        shown.step(SECTIONS[1])
        judge = Transformers(folder, dtype=torch.float32, device=device)
        distances = [one for precision in precisions(device) for one in field.distances(precision, judge)]
    return (_in_one_go(field, drawn, distances), _in_turns(field, played))


class _Field:
    """All contestants."""

    def __init__(self, device: torch.device, scale: EngineScale) -> None:
        self.device = device
        self.scale = scale
        self.weighed: dict[str, WeighedContestant[Any]] = {}
        self.draws: dict[str, TimedContestant] = {}
        self.turns: dict[str, TimedContestant] = {}
        self.unmeasured: list[MissingFigure] = []
        self._ours: dict[Precision, EngineDraws] = {}

    async def enter(
        self, stack: AsyncExitStack, model: Decoder, folder: Path, python: Path, precision: Precision
    ) -> None:
        """Add all engines of a precision to the contest."""
        device, scale = self.device, self.scale
        ours = WeighedContestant(device, _native_draws, model, scale, precision, device)
        stack.push_async_callback(ours.contestant.engine.close)
        theirs = WeighedContestant(device, _transformers_draws, folder, scale, precision, device)
        self._ours[precision] = ours.contestant
        self.weighed |= {_name(NATIVE, precision): ours, _name(TRANSFORMERS, precision): theirs}
        self._add(NATIVE, precision, ours, EngineTurns(ours.contestant.engine, scale))
        self._add(TRANSFORMERS, precision, theirs, TransformersTurns(theirs.contestant.model, scale))
        if device.type == "cuda":  # on a processor, transformers compiles nothing
            static = WeighedContestant(device, _transformers_draws, folder, scale, precision, device, static=True)
            self.weighed[_name(COMPILED, precision)] = static
            self.draws[_name(COMPILED, precision)] = TimedContestant(static)
        for name, eager in ((VLLM_EAGER, True), (VLLM_COMPILED, False)):
            peer = await vllm(folder, python, scale, precision, eager=eager)
            if isinstance(peer, Engine):
                stack.push_async_callback(peer.close)
                elsewhere = _processor_clock(peer)
                self._add(name, precision, EngineDraws(peer, scale), EngineTurns(peer, scale), elsewhere=elsewhere)
            elif peer not in self.unmeasured:
                self.unmeasured.append(peer)

    def _add(
        self,
        who: str,
        precision: Precision,
        draws: Contestant,
        turns: Contestant,
        *,
        elsewhere: Callable[[], float] = lambda: 0.0,
    ) -> None:
        name = _name(who, precision)
        self.draws[name] = TimedContestant(draws, elsewhere=elsewhere)
        self.turns[name] = TimedContestant(turns, elsewhere=elsewhere)

    def distances(self, precision: Precision, judge: Transformers) -> list[SpeedComparison]:
        """Differences between the native engine's log-probabilities and those of transformers in single precision."""
        off = distance(self._ours[precision], judge)
        name = f"log-probabilities of {_name(NATIVE, precision)}, off {_name(TRANSFORMERS, 'fp32')}"
        return [
            SpeedComparison(name=f"{name}, mean", value=float(off.mean()), unit="nats a token"),
            SpeedComparison(name=f"{name}, most", value=float(off.max()), unit="nats a token"),
        ]


def _native_draws(model: Decoder, scale: EngineScale, precision: Precision, device: torch.device) -> EngineDraws:
    return EngineDraws(native(model, scale, precision, device), scale)


def _transformers_draws(
    folder: Path, scale: EngineScale, precision: Precision, device: torch.device, *, static: bool = False
) -> TransformersDraws:
    model = Transformers(folder, dtype=DTYPES[precision], device=device, static=static)
    return TransformersDraws(model, scale, device)


def _processor_clock(engine: Engine) -> Callable[[], float]:
    """A function that returns the processor seconds of an engine's processes so far; NaN where the system is silent."""

    def read() -> float:
        pid = engine.pid if isinstance(engine, VllmEngine) else None
        if pid is None:
            return 0.0
        return processor_seconds([pid]) if sys.platform == "linux" else math.nan

    return read


def _name(who: str, precision: Precision) -> str:
    return f"{who}, {precision}"


def _in_one_go(field: _Field, drawn: ContestResult, distances: list[SpeedComparison]) -> SpeedSection:
    scale = field.scale
    limits = {precision: _limit(scale, precision, field.device) for precision in precisions(field.device)}
    rates = tuple(
        WorkRate.of(
            name, rounds, limit=limits[_precision(name)], per_processor_second=field.draws[name].per_processor_second
        )
        for name, rounds in drawn.rounds.items()
    )
    return SpeedSection(
        title=f"{scale.sequences} sequences at once, {scale.new} tokens behind a prompt of {scale.prompt}, "
        f"{scale.shape.parameters / 1e6:,.1f} million weights",
        unit="tokens",
        rates=rates,
        comparisons=(*_compare(rates, field, AIMS), *distances, *memory_comparisons(field.weighed)),
        unmeasured=(*field.unmeasured, *drawn.failed),
        note=f"{METHOD} All draw from the same weights, from the whole distribution at temperature 1, and nothing ends "
        "a sequence early. vLLM runs in both of its modes: eager, operation by operation, and compiled, which is its "
        "default. Native and vLLM also give each token's log-probability and draw with a seed of each "
        "trajectory's own. Transformers' generate, with its usual cache or, on a GPU, with a static one and a compiled "
        "step as well, does neither. The limit is what the matrix "
        "products with weights would allow: prompts in one pass, then a token of each sequence per pass. It includes "
        "neither attention nor anything else between them. Processor time is that of all threads, vLLM's own processes "
        "included.",
    )


def _in_turns(field: _Field, played: ContestResult) -> SpeedSection:
    scale = field.scale
    rates = tuple(
        WorkRate.of(name, rounds, per_processor_second=field.turns[name].per_processor_second)
        for name, rounds in played.rounds.items()
    )
    low, high = scale.latency
    return SpeedSection(
        title=f"{scale.sequences} trajectories of {scale.turns} turns of {scale.turn} tokens, tools that answer "
        f"{scale.answer} tokens after {low:g} to {high:g} s",
        unit="tokens",
        rates=rates,
        comparisons=_compare(rates, field, TURNS_AIMS),
        unmeasured=(*field.unmeasured, *played.failed),
        note="The rate counts sampled tokens and includes the tools' time. Native and vLLM are asked for a "
        "trajectory's next turn when its own tool has answered. Transformers samples the turns of all trajectories as "
        "one batch. It processes every context again and waits for the slowest tool. Delays are equal for all; short "
        "ones are likelier.",
    )


def _precision(name: str) -> Precision:
    return "bf16" if name.endswith("bf16") else "fp32"


def _limit(scale: EngineScale, precision: Precision, device: torch.device) -> float:
    """Maximum tokens per second by the matrix products alone; the prompt's pass gives the first token."""
    products = Products(scale.shape, dtype=DTYPES[precision], device=device)
    prefill = products.seconds(scale.sequences * scale.prompt, scored=scale.sequences)
    decode = products.seconds(scale.sequences, scored=scale.sequences)
    return scale.sequences * scale.new / (prefill + (scale.new - 1) * decode)


def _compare(rates: tuple[WorkRate, ...], field: _Field, aims: Mapping[str, float]) -> tuple[SpeedComparison, ...]:
    """Compare the native engine with other engines of the same precision, and its own precisions with each other."""
    by_name = {rate.name: rate for rate in rates}
    found: list[SpeedComparison] = []
    for precision in precisions(field.device):
        ours = _name(NATIVE, precision)
        for rival, aim in aims.items():
            theirs = _name(rival, precision)
            if theirs in by_name:
                found += _ratios(by_name[ours], by_name[theirs], aim)
    return tuple(found)


def _ratios(ours: WorkRate, theirs: WorkRate, aim: float) -> list[SpeedComparison]:
    """The ratio of two rates by wall time, and by processor time where both were measured."""
    name = f"{ours.name}, over {theirs.name}"
    found = [SpeedComparison(name=name, value=ours.per_second / theirs.per_second, at_least=aim)]
    if ours.per_processor_second is not None and theirs.per_processor_second is not None:
        times = ours.per_processor_second / theirs.per_processor_second
        found.append(SpeedComparison(name=f"{name}, by processor time", value=times))
    return found
