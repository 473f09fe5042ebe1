"""Several worlds behind one interface: each task is played in the world that its reference names."""

from collections.abc import Mapping
from typing import Any

from palaestra.errors import InfrastructureError, UnknownNameError
from palaestra.trainers.rollouts.world import Method, RolloutWorld, RolloutWorlds


def split_reference(reference: str) -> tuple[str, str]:
    """The world's name and the task's id in a reference: "noisy:storefront/refund/0001", or only a task's id."""
    name, colon, task = reference.partition(":")
    return (name, task) if colon else (reference.partition("/")[0], reference)


class RoutedWorld(RolloutWorld):
    """One place to play in; it opens a world of each kind at its first task, and keeps it."""

    def __init__(self, sources: Mapping[str, RolloutWorlds]) -> None:
        self._sources = sources
        self._open: dict[str, RolloutWorld] = {}
        self._playing: RolloutWorld | None = None

    async def ask(self, method: Method, *arguments: Any) -> Any:
        """Pass the call on to the world of the episode; a reset chooses the world that the task's reference names.

        Raises:
            UnknownNameError: the run has no such world, or the world has no such task.
            InfrastructureError: the world failed.
        """
        if method == "reset":
            reference, seed = arguments
            name, id = split_reference(reference)
            self._playing, arguments = await self._world_of(name, reference), (id, seed)
        if self._playing is None:
            raise InfrastructureError("no episode has begun in this world; reset it first")
        return await self._playing.ask(method, *arguments)

    async def _world_of(self, name: str, reference: str) -> RolloutWorld:
        if name not in self._sources:
            raise UnknownNameError.of("world", name, self._sources, f"(in the task {reference!r})")
        if name not in self._open:
            self._open[name] = await self._sources[name].open()
        return self._open[name]

    async def close(self) -> None:
        """Free every opened world."""
        for world in self._open.values():
            await world.close()


class RoutedWorlds(RolloutWorlds):
    """Opens places that play the tasks of several worlds.

    Args:
        sources: The sources of the worlds, by the world's name in its tasks' references.
    """

    def __init__(self, sources: Mapping[str, RolloutWorlds]) -> None:
        self._sources = dict(sources)

    async def open(self) -> RoutedWorld:
        """Create a place in which no world is open yet."""
        return RoutedWorld(self._sources)

    async def close(self) -> None:
        """Free everything."""
        for worlds in self._sources.values():
            await worlds.close()
