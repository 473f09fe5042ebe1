"""Faults that pass: how often something is tried again, and how long it is left alone before."""

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
        ConfigError: a number is below what it may be.
    """

    retries: int
    """Tries after the first."""
    first: float
    """Seconds before the first of them."""
    longest: float = 30.0
    """Seconds that no pause exceeds."""

    def __post_init__(self) -> None:
        for name in ("retries", "first", "longest"):
            if (value := getattr(self, name)) < 0:
                raise ConfigError(f"{name} = {value}: it must be at least 0")

    def pauses(self) -> Iterator[float]:
        """Seconds before each further try."""
        return (min(self.longest, self.first * 2**number) for number in range(self.retries))


class PatientEngine(Engine):
    """An engine that is asked again for a turn that it failed at.

    The world of the trajectory stands still meanwhile, so nothing is lost, and the turn that is drawn in the end is the
    one that would have been.

    Args:
        engine: What draws.
        backoff: How often a turn is asked for again.
        flights: The trajectories under way, by their ids.
        told: Called after each turn that was drawn.
    """

    def __init__(
        self, engine: Engine, backoff: Backoff, *, flights: Mapping[str, RolloutStatus], told: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._backoff = backoff
        self._flights = flights
        self._told = told
        self.faults = 0
        """Turns that failed, tries again included."""

    @property
    def context(self) -> int:
        """Tokens that a trajectory may have."""
        return self._engine.context

    async def generate(self, request: TurnRequest) -> Completion:
        """Draw one turn, however often it takes.

        Raises:
            WaitError: every try took longer than the request's `timeout`.
            EngineError: the engine failed at every try.
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
        """What is held for this trajectory can go."""
        self._engine.release(trajectory)

    async def update_weights(self, weights: Weights, version: int, *, in_flight: InFlight = "keep") -> None:
        """Draw with new weights from now on."""
        await self._engine.update_weights(weights, version, in_flight=in_flight)

    async def pause(self) -> None:
        """Draw nothing more."""
        await self._engine.pause()

    async def resume(self) -> None:
        """Go on after `pause`."""
        await self._engine.resume()

    def stats(self) -> EngineStats:
        """How it is doing."""
        return self._engine.stats()

    async def close(self) -> None:
        """Free everything."""
        await self._engine.close()
