"""Worlds as Ray actors, on this machine or on others. Needs the extra `ray`.

An initialised Ray is used as it is; otherwise Ray initialises itself.
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
    # Any: Ray determines an actor's methods at run time.
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
        with suppress(RayError):  # the error states that the actor is dead
            await self._actor.close.remote()
        await asyncio.gather(*self._under_way)


class RayWorlds(RemoteWorlds):
    """Opens worlds in Ray actors.

    An actor executes one call after another, like a process of `ProcessWorlds`.

    Args:
        spec: How each world is created; it must pickle.
        actors: The maximum number of actors.
        timeouts: The time limits of a world; that of opening includes waiting for room in the cluster.
        options: The options of each actor, as for Ray's `options`: resources, a runtime environment.
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
        """Start a new actor."""
        return _Actor(ray.remote(Host).options(**self._options).remote())
