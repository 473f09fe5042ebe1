"""Many trajectories under way at once, in worlds that are slow and engines that fail.

A trajectory that waits for its world is not in the engine: others are drawn meanwhile. A fault of a world costs a try,
a fault of the engine a pause; neither is ever a reward.

Over worlds of this process and an engine whose schedule is deterministic, so is all of this: the clock decides about
pauses and time-outs alone, and trajectories begin in the order in which they were asked for.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from palaestra.errors import ConfigError, InfrastructureError, ReplayError
from palaestra.record import record
from palaestra.trainers.codec import Codec
from palaestra.trainers.engines.engine import Engine, EngineStats
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.faults import Backoff, PatientEngine
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.player import Player
from palaestra.trainers.rollouts.pressure import AdmissionQueue, Pressure
from palaestra.trainers.rollouts.script import PartialRollout
from palaestra.trainers.rollouts.watch import RolloutStatus, WatchedWorld, waits
from palaestra.trainers.rollouts.world import RolloutWorlds
from palaestra.trajectory import Episode
from palaestra.transcript import AgentTranscript


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolConfig:
    """How many trajectories, and how patient.

    Raises:
        ConfigError: a number is below what it may be.
    """

    agents: int = 64
    """Trajectories under way at once; fewer where the engine carries no more."""
    world: Backoff = field(default_factory=lambda: Backoff(retries=2, first=0.0))
    """How often a trajectory is played again, each time in a fresh world, because its world failed."""
    engine: Backoff = field(default_factory=lambda: Backoff(retries=6, first=0.5))
    """How often a turn is asked for again because the engine failed: 31.5 s in all."""
    close_seconds: float = 10.0
    """What a world gets to close."""

    def __post_init__(self) -> None:
        if self.agents < 1:
            raise ConfigError(f"agents = {self.agents}: it must be at least 1")
        if self.close_seconds <= 0:
            raise ConfigError(f"close_seconds = {self.close_seconds}: it must be above 0")


@record
class RolloutResult:
    """What came of a job."""

    job: RolloutJob
    episode: Episode | None
    """`None` where the world failed at every try; there is no reward then, not even of zero."""
    faults: tuple[str, ...]
    """Of each try that its world failed."""
    seconds: float
    """Since it got its place."""
    world_seconds: float
    """Spent waiting for worlds."""
    engine_seconds: float
    """Spent waiting for turns."""


@record
class PoolTimes:
    """Where the time of all trajectories so far has gone, in seconds, since the pool was made."""

    played: float
    """With a place."""
    world: float
    """Waiting for worlds."""
    engine: float
    """Waiting for turns."""


class RolloutPool:
    """Plays jobs, up to a number at once. It belongs to one event loop.

    The engine and the worlds' source are closed by whoever made them, once the pool is closed.

    Args:
        engine: What draws turns.
        worlds: Where worlds come from.
        codec: Of the engine's policy.
        play_config: How a trajectory is played.
        config: How many, and how patient.
        solutions: By task, for jobs that rephrase one.
        say: Told, in a sentence, of every fault.
    """

    def __init__(
        self,
        engine: Engine,
        worlds: RolloutWorlds,
        codec: Codec,
        play_config: PlayConfig,
        config: PoolConfig,
        *,
        solutions: Mapping[str, AgentTranscript] | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        self._solutions = solutions or {}
        self._flights: dict[str, RolloutStatus] = {}
        self._players: dict[str, Player] = {}
        self._tasks: dict[str, asyncio.Task[RolloutResult]] = {}
        self._idle: list[WatchedWorld] = []
        self._closing: set[asyncio.Task[None]] = set()
        self._closed = False
        self._door = AdmissionQueue(config.agents, engine.stats)
        self._engine = PatientEngine(engine, config.engine, flights=self._flights, told=self._door.turn)
        self._worlds = worlds
        self._codec = codec
        self._play_config = play_config
        self._config = config
        self._say = say
        self._spent = PoolTimes(played=0.0, world=0.0, engine=0.0)

    @property
    def under_way(self) -> int:
        """Trajectories that have a place."""
        return self._door.inside

    @property
    def pressure(self) -> Pressure:
        """What finds out how many trajectories the engine carries; a run that goes on restores its state."""
        return self._door.pressure

    @property
    def ceiling(self) -> int:
        """Trajectories that may have a place, as far as is known; see `pressure`."""
        return self._door.pressure.ceiling

    @property
    def engine_faults(self) -> int:
        """Turns that the engine failed at."""
        return self._engine.faults

    def stats(self) -> EngineStats:
        """How the engine is doing."""
        return self._engine.stats()

    def times(self) -> PoolTimes:
        """Where time has gone, trajectories under way included."""
        total = self._spent
        for flight in self._flights.values():
            total = _more(total, flight)
        return total

    def waits(self) -> str:
        """Who waits for what, in words."""
        return waits(self._flights.values())

    async def room(self) -> None:
        """Wait until a job that is given now begins at once."""
        await self._door.room()

    def partial_rollout(self, trajectory: str) -> PartialRollout | None:
        """How far this trajectory is, to go on with it elsewhere; `None` where it has not begun."""
        player = self._players.get(trajectory)
        return player.partial_rollout() if player else None

    def submit(self, job: RolloutJob, *, begun: PartialRollout | None = None) -> "asyncio.Task[RolloutResult]":
        """Stand in line with a job, and play it to its end once there is a place for it.

        Cancelling the task ends the trajectory and frees its place and what the engine holds for it.

        Args:
            job: What to play; no other of its id may be under way.
            begun: Where to go on, for a trajectory that was saved half-way. A world that does not answer as it did then
                counts as a fault, and the job is played from its beginning.

        Returns:
            The task; besides its result it can end with

            - `EngineError`: the engine did not recover from a fault,
            - `WaitError`: the engine took too long for a turn, at every try,
            - `CancelledError`: it, or the pool, was told to stop.

        Raises:
            InfrastructureError: the pool is closed.
            ValueError: a job of this id is under way.
        """
        if self._closed:
            raise InfrastructureError(f"{job.trajectory}: the pool is closed; make another one")
        if job.trajectory in self._flights:
            raise ValueError(f"{job.trajectory} is under way already; give each job an id of its own")
        flight = self._flights[job.trajectory] = RolloutStatus(job)
        place = self._door.queue()
        task = asyncio.get_running_loop().create_task(self._play_placed(flight, place, begun), name=job.trajectory)
        self._tasks[job.trajectory] = task
        task.add_done_callback(lambda _: self._land(flight, place))
        return task

    async def play(self, job: RolloutJob, *, begun: PartialRollout | None = None) -> RolloutResult:
        """Play one job to its end; see `submit`.

        Raises:
            EngineError: the engine did not recover from a fault.
            WaitError: the engine took too long for a turn, at every try.
            InfrastructureError: the pool was closed.
        """
        task = self.submit(job, begun=begun)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if self._closed and not (current and current.cancelling()):
                raise InfrastructureError(f"{job.trajectory} was under way when the pool was closed") from None
            raise

    async def close(self) -> None:
        """End every trajectory, and close every world. Closing twice is fine."""
        self._closed = True
        under_way = list(self._tasks.values())
        for task in under_way:
            task.cancel()
        if under_way:
            await asyncio.wait(under_way)
        while self._idle:
            self._discard(self._idle.pop())
        if self._closing:
            await asyncio.wait(self._closing)

    async def _play_placed(
        self, flight: RolloutStatus, place: "asyncio.Future[None]", begun: PartialRollout | None
    ) -> RolloutResult:
        await place
        flight.take_place()
        return await self._attempt_all(flight, begun)

    def _land(self, flight: RolloutStatus, place: "asyncio.Future[None]") -> None:
        """A trajectory has ended, one way or another; it may not even have begun."""
        trajectory = flight.job.trajectory
        del self._tasks[trajectory], self._flights[trajectory]
        self._players.pop(trajectory, None)
        self._spent = _more(self._spent, flight)
        self._door.leave(place)

    async def _attempt_all(self, flight: RolloutStatus, begun: PartialRollout | None) -> RolloutResult:
        """Play it, in one world after the other until one does not fail."""
        faults: list[str] = []
        tries = self._config.world.retries + 1
        for pause in (0.0, *self._config.world.pauses()):
            if pause:
                with flight.waits("a fault to pass"):
                    await asyncio.sleep(pause)
            outcome = await self._attempt(flight, begun=None if faults else begun, fresh=bool(faults))
            if isinstance(outcome, Episode):
                return _play(flight, outcome, faults)
            faults.append(str(outcome))
            self._say(f"{flight.job.trajectory} ({flight.job.task}): try {len(faults)} of {tries} failed: {outcome}")
        return _play(flight, None, faults)

    async def _attempt(
        self, flight: RolloutStatus, *, begun: PartialRollout | None, fresh: bool
    ) -> Episode | Exception:
        """The episode, or how its world failed."""
        try:
            world = await self._world(flight, fresh=fresh)
        except InfrastructureError as fault:
            return fault
        try:
            player = Player(
                flight.job,
                world.world,
                self._engine,
                self._codec,
                self._play_config,
                begun=begun,
                solution=self._solutions.get(flight.job.task),
                asked=world.asking,
            )
            self._players[flight.job.trajectory] = player
            episode = await player.play()
        except InfrastructureError as fault:
            if world.fault is None:
                raise
            return fault
        except ReplayError as fault:
            return fault
        finally:
            self._give_back(world)
        if not episode.valid_for_baseline:
            return InfrastructureError("the world says that the episode is not to be counted")
        return episode

    async def _world(self, flight: RolloutStatus, *, fresh: bool) -> WatchedWorld:
        if self._idle and fresh:  # what took one world may have taken those that were idle
            self._discard(self._idle.pop(0))
        elif self._idle:
            return self._take(self._idle.pop(), flight)
        with flight.waits("a fresh world"):
            return self._take(WatchedWorld(await self._worlds.open()), flight)

    def _take(self, world: WatchedWorld, flight: RolloutStatus) -> WatchedWorld:
        world.flight = flight
        return world

    def _give_back(self, world: WatchedWorld) -> None:
        if world.sound and not self._closed:
            world.flight = None
            self._idle.append(world)
        else:
            self._discard(world)

    def _discard(self, world: WatchedWorld) -> None:
        """Have it closed; nobody waits for that but `close`."""
        closing = asyncio.get_running_loop().create_task(self._close_world(world), name="a world closes")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _close_world(self, world: WatchedWorld) -> None:
        try:
            async with asyncio.timeout(self._config.close_seconds):
                await world.world.close()
        except TimeoutError:
            self._say(f"a world did not close within {self._config.close_seconds:g} s and is left to itself")
        except Exception as fault:  # whatever it is, the world is of no more use
            self._say(f"a world failed while it was closed: {fault!r}")


def _play(flight: RolloutStatus, episode: Episode | None, faults: list[str]) -> RolloutResult:
    spent = _more(PoolTimes(played=0.0, world=0.0, engine=0.0), flight)
    return RolloutResult(
        job=flight.job,
        episode=episode,
        faults=tuple(faults),
        seconds=spent.played,
        world_seconds=spent.world,
        engine_seconds=spent.engine,
    )


def _more(total: PoolTimes, flight: RolloutStatus) -> PoolTimes:
    world = flight.seconds("a fresh world", "its world")
    engine = flight.seconds("the engine")
    return PoolTimes(
        played=total.played + world + engine + flight.seconds("a fault to pass"),
        world=total.world + world,
        engine=total.engine + engine,
    )
