"""Sampling in turns: a trajectory writes, waits for its tool, reads the answer and writes again.

Axes: B sequences, T tokens.
"""

import asyncio
from time import perf_counter, sleep

import torch

from palaestra.benchmarks.speed.training.models import Transformers
from palaestra.benchmarks.speed.training.scale import EngineScale
from palaestra.benchmarks.speed.training.work import RoundWork
from palaestra.trainers.engines.engine import Engine, Sampling, TurnRequest
from palaestra.trainers.engines.noise import noise_key


class EngineTurns:
    """Trajectories on an engine; each requests its next turn as soon as its own tool has answered.

    Args:
        engine: The engine.
        scale: The size of the run.
    """

    def __init__(self, engine: Engine, scale: EngineScale) -> None:
        self._engine = engine
        self._scale = scale
        self._work = RoundWork(scale)

    async def __call__(self, round_: int) -> float:
        """Play a round; return the sampled tokens per second, including the tools' time."""
        start = perf_counter()
        counts = await asyncio.gather(*(self._play(round_, n) for n in range(self._scale.sequences)))
        return sum(counts) / (perf_counter() - start)

    async def _play(self, round_: int, sequence: int) -> int:
        scale, work = self._scale, self._work
        name = f"turns/{round_}/{sequence}"
        context = work.prompt(round_, sequence)
        for turn in range(scale.turns):
            if turn:
                await asyncio.sleep(work.delay(round_, sequence, turn))
                context += work.answer(round_, sequence, turn)
            request = TurnRequest(
                trajectory=name,
                context=context,
                sampling=Sampling(limit=scale.turn, stop=()),
                noise=noise_key(name),
            )
            context += (await self._engine.generate(request)).ids
        self._engine.release(name)
        return scale.turns * scale.turn


class TransformersTurns:
    """Trajectories as one batch, which recomputes every context in each turn and waits for the slowest tool.

    Args:
        model: The model.
        scale: The size of the run.
    """

    def __init__(self, model: Transformers, scale: EngineScale) -> None:
        self._model = model
        self._scale = scale
        self._work = RoundWork(scale)

    async def __call__(self, round_: int) -> float:
        """Play a round; return the sampled tokens per second, including the tools' time."""
        scale, work = self._scale, self._work
        sequences = range(scale.sequences)
        start = perf_counter()
        ids_BT = torch.tensor([work.prompt(round_, sequence) for sequence in sequences])
        for turn in range(scale.turns):
            if turn:
                sleep(max(work.delay(round_, sequence, turn) for sequence in sequences))
                answers = torch.tensor([work.answer(round_, sequence, turn) for sequence in sequences])
                ids_BT = torch.cat((ids_BT, answers), 1)
            ids_BT = self._model.draw(ids_BT, scale.turn).cpu()
        return scale.sequences * scale.turns * scale.turn / (perf_counter() - start)
