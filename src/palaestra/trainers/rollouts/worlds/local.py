"""Worlds in this process: each call is answered at once, before any other task runs.

Runs with them are deterministic. Nothing guards against a world that hangs or crashes the process; the other kinds of
worlds do.
"""

from typing import Any
from weakref import WeakSet

from palaestra.agents.hosted import HostedEnv, WorldSpec
from palaestra.errors import InfrastructureError
from palaestra.trainers.rollouts.world import Method, RolloutWorld, RolloutWorlds


class LocalWorld(RolloutWorld):
    """One environment in this process."""

    def __init__(self, spec: WorldSpec) -> None:
        self._hosted: HostedEnv | None = HostedEnv(spec)

    async def ask(self, method: Method, *arguments: Any) -> Any:
        """Execute the call at once."""
        if self._hosted is None:
            raise InfrastructureError("this world was closed; open another one")
        return getattr(self._hosted, method)(*arguments)

    async def close(self) -> None:
        """Free the environment."""
        if self._hosted is not None:
            self._hosted.close()
            self._hosted = None


class LocalWorlds(RolloutWorlds):
    """Opens worlds in this process.

    Args:
        spec: How each world is created.
    """

    def __init__(self, spec: WorldSpec) -> None:
        self._spec = spec
        self._opened: WeakSet[LocalWorld] = WeakSet()
        self._closed = False

    async def open(self) -> LocalWorld:
        """Open a fresh world.

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
