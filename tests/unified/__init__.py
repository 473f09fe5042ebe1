"""Turns that an engine draws in many ways, and the same as a learner is given them: for claims that both agree."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten_tokens
from palaestra.trainers.engines.engine import Completion, Engine, Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.model.decoder import Decoder
from palaestra.trajectory import Span, Tokens

VOCABULARY = 48


@dataclass
class Played:
    """A trajectory of turns."""

    ids: list[int]
    logprobs: list[float] = field(default_factory=list[float])
    """Of all tokens, 0 where they were not drawn."""
    spans: list[Span] = field(default_factory=list[Span])

    def __post_init__(self) -> None:
        self.logprobs = [0.0] * len(self.ids)

    def take(self, drawn: Completion, answer: Sequence[int]) -> None:
        """A turn, and what the world says to it."""
        self.spans.append(Span(kind="turn", start=len(self.ids), end=len(self.ids) + len(drawn.ids)))
        self.ids += [*drawn.ids, *answer]
        self.logprobs += [*drawn.logprobs, *[0.0] * len(answer)]

    def tokens(self) -> Tokens:
        """As a learner's batch is made of."""
        own = {place for span in self.spans for place in range(span.start, span.end)}
        return Tokens(
            ids=tuple(self.ids),
            sampled=tuple(place in own for place in range(len(self.ids))),
            logprobs=tuple(self.logprobs),
            versions=(0,) * len(self.ids),
            spans=tuple(self.spans),
            stops=tuple("length" for _ in self.spans),
        )


def prompt(number: int) -> list[int]:
    """Of 1 token or more; two of three begin with one of two long beginnings."""
    own = [(7 * i * i + number) % VOCABULARY for i in range(1 + 5 * number % 37)]
    return own if number % 3 == 0 else [(5 * i + number % 3) % VOCABULARY for i in range(40)] + own


async def draw_turns(
    engine: Engine, number: int, *, turns: int = 2, limit: int = 9, temperature: float = 1.0
) -> Played:
    """One trajectory."""
    played = Played(prompt(number))
    sampling = Sampling(limit=limit, stop=(), temperature=temperature)
    for turn in range(turns):
        request = TurnRequest(
            trajectory=f"t{number}", context=tuple(played.ids), sampling=sampling, noise=noise_key(number)
        )
        drawn = await engine.generate(request)
        played.take(drawn, [(turn + i) % VOCABULARY for i in range(4)])
    return played


def draw_together(
    model: Decoder, numbers: Sequence[int], config: NativeConfig, *, turns: int = 2, temperature: float = 1.0
) -> Mapping[int, Played]:
    """Trajectories side by side in one engine."""

    async def play() -> Mapping[int, Played]:
        engine = NativeEngine(model, config)
        drawn = await asyncio.gather(
            *(draw_turns(engine, number, turns=turns, temperature=temperature) for number in numbers)
        )
        await engine.close()
        return dict(zip(numbers, drawn, strict=True))

    return asyncio.run(play())


def batch_of(played: Mapping[int, Played]) -> TokenBatch:
    """The batch of trajectories."""
    return flatten_tokens([one.tokens() for one in played.values()])
