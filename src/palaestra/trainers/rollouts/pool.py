"""A pool that plays many trajectories at once, with slow worlds and engines that fail.

A trajectory that waits for its world is not in the engine; other trajectories are sampled meanwhile. A fault of a world
costs a try, a fault of the engine a pause; neither becomes a reward.

With worlds in this process and an engine with a deterministic schedule, the pool is deterministic: the clock affects
only pauses and time-outs, and trajectories begin in the order of their submission.
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
    """The number of trajectories, and the handling of faults.

    Raises:
        ConfigError: a number is below its minimum.
    """

    agents: int = 64
    """The maximum number of trajectories under way at once; fewer if the engine cannot carry that many."""
    world: Backoff = field(default_factory=lambda: Backoff(retries=2, first=0.0))
    """Retries of a trajectory after a failure of its world, each in a fresh world."""
    engine: Backoff = field(default_factory=lambda: Backoff(retries=6, first=0.5))
    """Retries of a turn after a failure of the engine; the pauses sum to 31.5 s."""
    close_seconds: float = 10.0
    """The maximum seconds for closing a world."""

    def __post_init__(self) -> None:
        if self.agents < 1:
            raise ConfigError(f"agents = {self.agents}: it must be at least 1")
        if self.close_seconds <= 0:
            raise ConfigError(f"close_seconds = {self.close_seconds}: it must be above 0")


@record
class RolloutResult:
    """The result of a job."""

    job: RolloutJob
    episode: Episode | None
    """The episode; `None` if the world failed at every try: then there is no reward, not even 0."""
    faults: tuple[str, ...]
    """The fault of each try at which its world failed."""
    seconds: float
    """Seconds since the trajectory got its place."""
    world_seconds: float
    """Seconds of waiting for worlds."""
    engine_seconds: float
    """Seconds of waiting for turns."""


@record
class PoolTimes:
    """The time of all trajectories since the pool was created, in seconds, by use."""

    played: float
    """Time with a place."""
    world: float
    """Time of waiting for worlds."""
    engine: float
    """Time of waiting for turns."""


class RolloutPool:
    """Plays jobs, up to a maximum number at once. A pool belongs to one event loop.

    The caller closes the engine and the source of worlds after the pool.

    Args:
        engine: The engine that samples turns.
        worlds: The source of worlds.
        codec: The codec of the engine's policy.
        play_config: How a trajectory is played.
        config: The number of trajectories, and the handling of faults.
        solutions: Solutions by task, for jobs that rephrase one.
        say: Called with a sentence about each fault.
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
        """The number of trajectories that have a place."""
        return self._door.inside

    @property
    def pressure(self) -> Pressure:
        """The search for the number of trajectories that the engine carries; a resumed run restores its state."""
        return self._door.pressure

    @property
    def ceiling(self) -> int:
        """The number of trajectories that may have a place, by the current estimate; see `pressure`."""
        return self._door.pressure.ceiling

    @property
    def engine_faults(self) -> int:
        """The number of turns at which the engine failed."""
        return self._engine.faults

    def stats(self) -> EngineStats:
        """The engine's current statistics."""
        return self._engine.stats()

    def times(self) -> PoolTimes:
        """The time so far by use, trajectories under way included."""
        total = self._spent
        for flight in self._flights.values():
            total = _more(total, flight)
        return total

    def waits(self) -> str:
        """A text that states how many trajectories wait for what."""
        return waits(self._flights.values())

    async def room(self) -> None:
        """Wait until a newly submitted job would begin at once."""
        await self._door.room()

    def partial_rollout(self, trajectory: str) -> PartialRollout | None:
        """The part of this trajectory played so far, to continue it elsewhere; `None` if it has not begun."""
        player = self._players.get(trajectory)
        return player.partial_rollout() if player else None

    def submit(self, job: RolloutJob, *, begun: PartialRollout | None = None) -> "asyncio.Task[RolloutResult]":
        """Queue a job, and play it to its end once there is a place for it.

        Cancelling the task ends the trajectory, and frees its place and everything that the engine holds for it.

        Args:
            job: The job; no other job with its id may be under way.
            begun: The saved part, for a trajectory that was saved half-way. If the world does not answer as recorded,
                this counts as a fault, and the job is played from its beginning.

        Returns:
            The task; instead of a result it can raise

            - `EngineError`: the engine did not recover from a fault,
            - `WaitError`: the engine took too long for a turn, at every try,
            - `CancelledError`: the task was cancelled, or the pool was closed.

        Raises:
            InfrastructureError: the pool is closed.
            ValueError: a job with this id is under way.
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
        """End every trajectory, and close every world. A second call has no effect."""
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
        """Clean up after a trajectory that ended in any way; it may not even have begun."""
        trajectory = flight.job.trajectory
        del self._tasks[trajectory], self._flights[trajectory]
        self._players.pop(trajectory, None)
        self._spent = _more(self._spent, flight)
        self._door.leave(place)

    async def _attempt_all(self, flight: RolloutStatus, begun: PartialRollout | None) -> RolloutResult:
        """Play a trajectory, in one world after another, until a world does not fail."""
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
        """Play a trajectory once; return the episode or the world's failure."""
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
        if self._idle and fresh:  # the fault of one world may have hit the idle worlds too
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
        """Close a world in the background; only `close` waits for it."""
        closing = asyncio.get_running_loop().create_task(self._close_world(world), name="a world closes")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _close_world(self, world: WatchedWorld) -> None:
        try:
            async with asyncio.timeout(self._config.close_seconds):
                await world.world.close()
        except TimeoutError:
            self._say(f"a world did not close within {self._config.close_seconds:g} s and is left to itself")
        except Exception as fault:  # whatever the error, the world is unusable
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
