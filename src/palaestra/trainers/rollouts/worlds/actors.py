"""Worlds as Ray actors, on this machine or on others. Needs the extra `ray`.

Ray is used as it was initialised; where it was not, it does so by itself.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import ray
from ray.exceptions import RayError

from palaestra.agents.host import GRACE, Host
from palaestra.agents.hosted import WorldSpec
from palaestra.trainers.rollouts.worlds.remote import RemoteWorlds, Timeouts, WorldWorker


class _Actor(WorldWorker):
    # Any: an actor's methods are known to Ray at run time alone.
    def __init__(self, actor: Any) -> None:
        super().__init__(f"Ray actor {actor._actor_id.hex()}")
        self._actor = actor
        self._under_way: set[asyncio.Task[None]] = set()

    def send(self, number: int, frame: bytes) -> None:
        task = asyncio.create_task(self._call(number, frame))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _call(self, number: int, frame: bytes) -> None:
        try:
            self.pass_answer(number, await self._actor.answer.remote(frame))
        except RayError as error:
            self.fail(f"{self.name} is gone and is replaced: {error}")

    def kill(self) -> None:
        ray.kill(self._actor)

    async def end(self) -> None:
        with suppress(TimeoutError, RayError):
            async with asyncio.timeout(2 * GRACE):
                await self._actor.close.remote()
        self.kill()
        with suppress(RayError):  # which says that the actor is dead
            await self._actor.close.remote()
        await asyncio.gather(*self._under_way)


class RayWorlds(RemoteWorlds):
    """Opens worlds in Ray actors.

    An actor does one call after the other, as a process of `ProcessWorlds` does.

    Args:
        spec: How each world is made; it must pickle.
        actors: How many there are at most.
        timeouts: How long a world may take; to be made includes waiting for the cluster to have room.
        options: Of each actor, as Ray's own `options` takes them: resources, a runtime environment.
    """

    def __init__(
        self,
        spec: WorldSpec,
        *,
        actors: int,
        timeouts: Timeouts | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(spec, actors, timeouts or Timeouts())
        self._options = dict(options or {})

    async def start(self) -> WorldWorker:
        """A new actor."""
        return _Actor(ray.remote(Host).options(**self._options).remote())
