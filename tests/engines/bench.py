"""One engine under test: how to come by it, the loop it lives on, and the decoders that it must agree with."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

import torch

from engines.plain import expected, telling
from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.trainers.engines.engine import Completion, Engine, Sampling, TurnRequest, Weights
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.model.checkpoint import save_decoder
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape


@record
class Harness:
    """What the suite must know of a kind of engine."""

    make: Callable[[Path], Engine]
    """An engine over the checkpoint in this folder, whose cache holds `capacity` tokens or about as many."""
    shape: DecoderShape
    """Of a checkpoint that it can serve."""
    tolerance: float
    """Nats by which a log-probability may differ from the plain decoder's."""
    takes_noise: bool
    """Whether tokens are drawn by inversion with the noise of the request."""
    tells_resident: bool
    """Whether `resident` counts what is held for trajectories that wait for their worlds."""
    patience: float = 60.0
    """Seconds that a claim may take."""


class Bench:
    """An engine, made when it is first asked for, and again once it was closed.

    Args:
        harness: Of its kind.
        folder: An empty one.
    """

    def __init__(self, harness: Harness, folder: Path) -> None:
        self.harness = harness
        self.first, self.second = telling(harness.shape, seed=1), telling(harness.shape, seed=2)
        """Two decoders of one shape; every claim begins with the first one's weights."""
        self._folder = folder
        save_decoder(self.first, folder)
        self._runner = asyncio.Runner()
        self._engine: Engine | None = None
        self._version = 0
        self._names = count()

    def check(self, claim: Callable[["Bench"], Awaitable[None]]) -> None:
        """Run one claim to its end."""
        self._runner.run(self._checked(claim))

    def close(self) -> None:
        """Close the engine and its loop."""
        if self._engine is not None:
            self._runner.run(self._engine.close())
        self._runner.close()

    async def engine(self) -> Engine:
        """The engine, at rest, with the first decoder's weights under a version of its own."""
        if self._engine is None:
            self._engine = self.harness.make(self._folder)
        await self._engine.update_weights(weights(self.first), self.version())
        return self._engine

    async def discard(self) -> None:
        """Close the engine; the next claim has another one."""
        if self._engine is not None:
            await self._engine.close()
        self._engine = None

    def version(self) -> int:
        """A version that was not used before."""
        self._version += 1
        return self._version

    @property
    def current(self) -> int:
        """The version that was given last."""
        return self._version

    def ids(self, length: int, name: str | int) -> tuple[int, ...]:
        """Any token ids, by name."""
        stream = Stream.root("ids", name)
        return tuple(stream.below(self.harness.shape.vocabulary) for _ in range(length))

    def request(
        self,
        context: tuple[int, ...],
        sampling: Sampling,
        *,
        trajectory: str | None = None,
        noise: str | None = None,
        timeout: float | None = None,
    ) -> TurnRequest:
        """A turn to be asked for, of a new trajectory where none is named, with noise named after it."""
        trajectory = trajectory if trajectory is not None else f"trajectory-{next(self._names)}"
        noise = noise if noise is not None else trajectory
        return TurnRequest(
            trajectory=trajectory, context=context, sampling=sampling, noise=noise_key(noise), timeout=timeout
        )

    def agrees(self, request: TurnRequest, turn: Completion, decoder: Decoder | None = None) -> None:
        """Assert that a turn's log-probabilities are those of a decoder, the first one unless told otherwise."""
        decoder = decoder if decoder is not None else self.first
        self.near(turn, expected(decoder, request.context, turn.ids, request.sampling))

    def near(self, turn: Completion, logp_TV: torch.Tensor) -> None:
        """Assert that a turn's log-probabilities are those of `logp_TV` at its tokens."""
        wanted_T = logp_TV[range(len(turn.ids)), list(turn.ids)]
        difference_T = (torch.tensor(turn.logprobs) - wanted_T).abs()
        assert difference_T.max().item() <= self.harness.tolerance, f"{difference_T}"

    async def _checked(self, claim: Callable[["Bench"], Awaitable[None]]) -> None:
        async with asyncio.timeout(self.harness.patience):
            await claim(self)


def weights(decoder: Decoder) -> Weights:
    """A decoder's, as a trainer hands them over."""
    return decoder.state_dict()


async def until(condition: Callable[[], bool]) -> None:
    """Come back once `condition` holds; the claim's own time-out bounds the wait."""
    while not condition():
        await asyncio.sleep(0.001)
