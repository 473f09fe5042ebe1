"""Worlds of this process: each call is answered at once, before anybody else runs.

Runs over them are deterministic. Nothing guards against a world that hangs or takes the process down with it; that is
what the other kinds are for.
"""

from weakref import WeakSet

from palaestra.agents.hosted import HostedEnv, WorldSpec
from palaestra.errors import InfrastructureError
from palaestra.records import EndReason
from palaestra.trainers.rollouts.world import EpisodeOpening, RolloutWorld, RolloutWorlds, TurnAnswer
from palaestra.trajectory import Episode


class LocalWorld(RolloutWorld):
    """One environment in this process."""

    def __init__(self, spec: WorldSpec) -> None:
        self._hosted: HostedEnv | None = HostedEnv(spec)

    @property
    def _open(self) -> HostedEnv:
        if self._hosted is None:
            raise InfrastructureError("this world was closed; open another one")
        return self._hosted

    async def reset(self, task: str, seed: int) -> EpisodeOpening:
        """Begin an episode."""
        observation, tools = self._open.reset(task, seed)
        return EpisodeOpening(observation=observation, tools=tools)

    async def step(self, text: str) -> TurnAnswer:
        """Take one turn."""
        observation, over = self._open.step(text)
        return TurnAnswer(observation=observation, over=over)

    async def stop(self, reason: EndReason) -> None:
        """End the episode from outside."""
        self._open.stop(reason)

    async def episode(self) -> Episode:
        """The episode so far."""
        return self._open.episode()

    async def close(self) -> None:
        """Free the environment."""
        if self._hosted is not None:
            self._hosted.close()
            self._hosted = None


class LocalWorlds(RolloutWorlds):
    """Makes worlds in this process.

    Args:
        spec: How each is made.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._spec = spec
        self._opened: WeakSet[LocalWorld] = WeakSet()
        self._closed = False

    async def open(self) -> LocalWorld:
        """A fresh world.

        Raises:
            InfrastructureError: `close` was called.
        """
        if self._closed:
            raise InfrastructureError("these worlds were closed; make others")
        world = LocalWorld(self._spec)
        self._opened.add(world)
        return world

    async def close(self) -> None:
        """Free everything."""
        self._closed = True
        for world in list(self._opened):
            await world.close()
