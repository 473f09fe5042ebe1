"""Sampling in one go: all sequences at once, each a prompt followed by a fixed number of tokens.

Axes: B sequences, T tokens.
"""

import asyncio
from time import perf_counter

import torch
from torch import Tensor

from palaestra.benchmarks.speed.training.limits import synchronise
from palaestra.benchmarks.speed.training.models import Transformers
from palaestra.benchmarks.speed.training.scale import EngineScale
from palaestra.benchmarks.speed.training.work import RoundWork
from palaestra.trainers.engines.engine import Completion, Engine, Sampling, TurnRequest
from palaestra.trainers.engines.noise import noise_key

_JUDGED = 8
"""Sequences whose log-probabilities are computed at once."""


class EngineDraws:
    """A native engine that samples all sequences at once.

    Args:
        engine: The engine.
        scale: The size of the run.
    """

    def __init__(self, engine: Engine, scale: EngineScale) -> None:
        self.engine = engine
        self._scale = scale
        self._work = RoundWork(scale)
        self.drawn: list[tuple[tuple[int, ...], Completion]] = []
        """The prompts and completions of the last round."""

    async def __call__(self, round_: int) -> float:
        """Sample a round; return the sampled tokens per second."""
        prompts = [self._work.prompt(round_, sequence) for sequence in range(self._scale.sequences)]
        start = perf_counter()
        completions = await asyncio.gather(*(self._one(round_, n, prompt) for n, prompt in enumerate(prompts)))
        seconds = perf_counter() - start
        self.drawn = list(zip(prompts, completions, strict=True))
        count = sum(len(completion.ids) for completion in completions)
        assert count == self._scale.sequences * self._scale.new, f"{count} tokens were drawn"
        return count / seconds

    async def _one(self, round_: int, sequence: int, prompt: tuple[int, ...]) -> Completion:
        name = f"draw/{round_}/{sequence}"
        completion = await self.engine.generate(
            TurnRequest(
                trajectory=name,
                context=prompt,
                sampling=Sampling(limit=self._scale.new, stop=()),
                noise=noise_key(name),
            )
        )
        self.engine.release(name)
        return completion


class TransformersDraws:
    """transformers, sampling all sequences as one batch.

    Args:
        model: The model.
        scale: The size of the run.
        device: The device of the model.
    """

    def __init__(self, model: Transformers, scale: EngineScale, device: torch.device) -> None:
        self.model = model
        self._scale = scale
        self._device = device
        self._work = RoundWork(scale)

    async def __call__(self, round_: int) -> float:
        """Sample a round; return the sampled tokens per second."""
        scale = self._scale
        ids_BT = torch.tensor([self._work.prompt(round_, sequence) for sequence in range(scale.sequences)])
        start = perf_counter()
        self.model.draw(ids_BT, scale.new)
        synchronise(self._device)
        return scale.sequences * scale.new / (perf_counter() - start)


def distance(draws: EngineDraws, model: Transformers) -> Tensor:
    """Absolute differences of log-probabilities between engine and model, in nats, per token of the last round."""
    off: list[Tensor] = []
    for at in range(0, len(draws.drawn), _JUDGED):  # the logits of a large vocabulary need much memory
        some = draws.drawn[at : at + _JUDGED]
        ids_BT = torch.tensor([(*prompt, *completion.ids) for prompt, completion in some])
        logp_BT = torch.tensor([completion.logprobs for _, completion in some])
        off.append((model.logprobs(ids_BT, logp_BT.shape[1]).cpu() - logp_BT).abs())
    return torch.cat(off)
