"""Transient faults: the number of retries, and the pauses before them."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite

from palaestra.errors import ConfigError, EngineError, WaitError
from palaestra.trainers.engines.engine import Completion, Engine, EngineStats, InFlight, TurnRequest, Weights
from palaestra.trainers.rollouts.watch import RolloutStatus, waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Pauses between tries, each twice as long as the one before.

    Raises:
        ConfigError: a number is below its minimum.
    """

    retries: int
    """The number of tries after the first."""
    first: float
    """Seconds before the first retry."""
    longest: float = 30.0
    """The maximum length of a pause in seconds."""

    def __post_init__(self) -> None:
        for name in ("retries", "first", "longest"):
            if (value := getattr(self, name)) < 0:
                raise ConfigError(f"{name} = {value}: it must be at least 0")

    def pauses(self) -> Iterator[float]:
        """The pause before each retry, in seconds."""
        return (min(self.longest, self.first * 2**number) for number in range(self.retries))


class PatientEngine(Engine):
    """An engine that retries a turn after a failure.

    The trajectory's world does not change meanwhile, so nothing is lost, and a retry samples the same turn.

    Args:
        engine: The engine that samples.
        backoff: The number of retries of a turn, and the pauses before them.
        flights: The trajectories under way, by their ids.
        told: Called after each sampled turn.
    """

    def __init__(
        self, engine: Engine, backoff: Backoff, *, flights: Mapping[str, RolloutStatus], told: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._backoff = backoff
        self._flights = flights
        self._told = told
        self.faults = 0
        """The number of failed turns, retries included."""

    @property
    def context(self) -> int:
        """The maximum number of tokens of a trajectory."""
        return self._engine.context

    async def generate(self, request: TurnRequest) -> Completion:
        """Sample one turn, with retries.

        Raises:
            WaitError: every try failed, the last one by exceeding the request's `timeout`.
            EngineError: every try failed, the last one with an error of the engine.
        """
        flight = self._flights[request.trajectory]
        for pause in self._backoff.pauses():
            try:
                return await self._draw(request, flight)
            except (EngineError, WaitError):
                self.faults += 1
            with flight.waits("a fault to pass"):
                await asyncio.sleep(pause)
        try:
            return await self._draw(request, flight)
        except (EngineError, WaitError) as fault:
            self.faults += 1
            raise type(fault)(self._explain_giving_up(request, fault)) from fault

    async def _draw(self, request: TurnRequest, flight: RolloutStatus) -> Completion:
        with flight.waits("the engine"):
            completion = await self._engine.generate(request)
        if not all(map(isfinite, completion.logprobs)):
            raise EngineError(
                f"a log-probability of {request.trajectory} is no finite number; its weights or arithmetic are unsound"
            )
        self._told()
        return completion

    def _explain_giving_up(self, request: TurnRequest, fault: Exception) -> str:
        pauses = tuple(self._backoff.pauses())
        return (
            f"the engine did not recover: {request.trajectory} asked for a turn {len(pauses) + 1} times over at least "
            f"{sum(pauses):g} s, and the last fault was: {fault}. Of {len(self._flights)} trajectories under way, "
            f"{waits(self._flights.values())}. Make another engine and go on from the last checkpoint"
        )

    def release(self, trajectory: str) -> None:
        """Free everything that is held for this trajectory."""
        self._engine.release(trajectory)

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        """Sample with new weights from now on."""
        await self._engine.update_weights(weights, version, in_flight=in_flight)

    async def pause(self) -> None:
        """Stop sampling."""
        await self._engine.pause()

    async def resume(self) -> None:
        """Continue after `pause`."""
        await self._engine.resume()

    def stats(self) -> EngineStats:
        """The engine's current statistics."""
        return self._engine.stats()

    async def close(self) -> None:
        """Free everything."""
        await self._engine.close()
