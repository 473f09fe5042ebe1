"""`palaestra bench replicas`: sampling rates of engines in separate processes, beside one engine in this process."""

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import asdict

import torch

from palaestra.benchmarks.speed.training.contest import METHOD, ContestResult, TimedContestant, compete
from palaestra.benchmarks.speed.training.figures import SpeedComparison, SpeedSection, TrainingReport, WorkRate
from palaestra.benchmarks.speed.training.machine import machine
from palaestra.benchmarks.speed.training.models import make_peaked_decoder
from palaestra.benchmarks.speed.training.scale import EngineScale, ReplicaScale
from palaestra.benchmarks.speed.training.work import RoundWork
from palaestra.trainers.engines.engine import Engine, Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.engines.replicas import ReplicaEngine, ReplicasConfig
from palaestra.trainers.progress import OpenProgressBar, silent

ONE = "1 engine in the process that asks"
"""The contestant that all others are compared with."""


def bench_replicas(*, scale: ReplicaScale, bar: OpenProgressBar = silent) -> TrainingReport:
    """Sample rollouts with one engine in this process, one engine in a separate process, and several such engines.

    Each engine works on one thread.

    Args:
        scale: The size of the run.
        bar: Opens a progress bar.
    """
    found, threads = machine(torch.device("cpu")), torch.get_num_threads()
    try:
        sections = asyncio.run(_sections(scale, bar))
    finally:
        torch.set_num_threads(threads)
    return TrainingReport(
        command="palaestra bench replicas", machine=found, setting=asdict(scale), sections=tuple(sections)
    )


async def _sections(scale: ReplicaScale, bar: OpenProgressBar) -> list[SpeedSection]:
    torch.set_num_threads(1)
    model = make_peaked_decoder(scale.shape)
    config = NativeConfig(rows=scale.groups * scale.group_size)
    async with AsyncExitStack() as stack:
        engine = NativeEngine(model, config)
        stack.push_async_callback(engine.close)
        contestants = {ONE: TimedContestant(_Rollouts(engine, scale))}
        for count in sorted({1, scale.replicas}):
            replicas = ReplicaEngine(model, config, ReplicasConfig(count=count))
            stack.push_async_callback(replicas.close)
            name = "1 replica" if count == 1 else f"{count} replicas"
            contestants[name] = TimedContestant(_Rollouts(replicas, scale), elsewhere=replicas.processor_seconds)
        with bar("measuring", len(contestants)) as shown:
            result = await compete(contestants, scale.rounds, progress=shown.step)
    spent = {name: one.per_processor_second for name, one in contestants.items()}
    return [
        _section(scale, "by wall time", result, dict(result.rounds)),
        _section(scale, "by processor time", result, spent),
    ]


class _Rollouts:
    """Groups of trajectories with several turns, all at once; tools answer without delay.

    Args:
        engine: The engine.
        scale: The size of the run.
    """

    def __init__(self, engine: Engine, scale: ReplicaScale) -> None:
        self._engine = engine
        self._scale = scale
        self._work = RoundWork(EngineScale(shape=scale.shape, prompt=scale.prompt, answer=scale.answer))

    async def __call__(self, round_: int) -> float:
        """Play a round; return the sampled tokens per second."""
        scale = self._scale
        start = time.perf_counter()
        members = [(group, member) for group in range(scale.groups) for member in range(scale.group_size)]
        tokens = sum(await asyncio.gather(*(self._play(round_, *one) for one in members)))
        return tokens / (time.perf_counter() - start)

    async def _play(self, round_: int, group: int, member: int) -> int:
        scale, name = self._scale, f"rollouts/{round_}/{group}/{member}"
        context = self._work.prompt(round_, group)
        for turn in range(scale.turns):
            if turn:
                context += self._work.answer(round_, scale.group_size * group + member, turn)
            request = TurnRequest(
                trajectory=name,
                context=context,
                sampling=Sampling(limit=scale.turn, stop=()),
                noise=noise_key(name),
                group=f"rollouts/{round_}/{group}",
            )
            context += (await self._engine.generate(request)).ids
        self._engine.release(name)
        return scale.turns * scale.turn


def _section(scale: ReplicaScale, title: str, result: ContestResult, rounds: dict[str, list[float]]) -> SpeedSection:
    rates = [WorkRate.of(name, rounds[name]) for name in result.rounds]
    by_name = {rate.name: rate.per_second for rate in rates}
    return SpeedSection(
        title=f"Rollouts {title}: {scale.groups} groups of {scale.group_size}, {scale.turns} turns of {scale.turn} "
        "tokens",
        unit="tokens",
        rates=tuple(rates),
        comparisons=tuple(
            SpeedComparison(name=f"{name}, over {ONE}", value=rate / by_name[ONE])
            for name, rate in by_name.items()
            if name != ONE and ONE in by_name
        ),
        unmeasured=result.failed,
        note=f"A group shares a prompt of {scale.prompt} tokens; {scale.answer} tokens answer each turn, at once. "
        f"Engines have one thread each. {METHOD} The start of processes is part of the first round. Processor time is "
        "that of this process and of the replicas together.",
    )
