"""Worlds of this process that do as they are told before each call: wait, fail, or count."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from palaestra.errors import InfrastructureError
from palaestra.record import record
from palaestra.seeding import Stream
from palaestra.trainers.rollouts.world import Method, RolloutWorld, RolloutWorlds
from palaestra.trajectory import Episode

What: TypeAlias = Literal["open", "reset", "step", "stop", "episode", "close"]


@record
class Call:
    """What a world is asked."""

    number: int
    """From 0, over all worlds."""
    world: int
    """In the order in which they were opened."""
    what: What
    task: str
    """Empty before the first reset."""


Deed: TypeAlias = Callable[[Call], Awaitable[None]]


class Unruly(RolloutWorlds):
    """Worlds before whose every call `deed` is done; `calls` lists them. Episodes of `void` ones do not count."""

    def __init__(self, worlds: RolloutWorlds, deed: Deed, *, void: bool = False) -> None:
        self.void = void
        self._worlds = worlds
        self._deed = deed
        self.calls: list[Call] = []
        self.opened = 0
        self.standing: set[int] = set()
        """Worlds that were opened and not closed."""

    async def asked(self, world: int, what: What, task: str = "") -> None:
        call = Call(number=len(self.calls), world=world, what=what, task=task)
        self.calls.append(call)
        await self._deed(call)

    async def open(self) -> RolloutWorld:
        number = self.opened
        self.opened += 1
        await self.asked(number, "open")
        self.standing.add(number)
        return _UnrulyWorld(self, number, await self._worlds.open())

    async def close(self) -> None:
        await self._worlds.close()


class _UnrulyWorld(RolloutWorld):
    def __init__(self, worlds: Unruly, number: int, world: RolloutWorld) -> None:
        self._worlds = worlds
        self._number = number
        self._world = world
        self._task = ""

    async def _asked(self, what: What) -> None:
        await self._worlds.asked(self._number, what, self._task)

    async def ask(self, method: Method, *arguments: Any) -> Any:
        if method == "reset":
            self._task = arguments[0]
        await self._asked(method)
        answer = await self._world.ask(method, *arguments)
        if isinstance(answer, Episode) and self._worlds.void:
            return replace(answer, valid_for_baseline=False)
        return answer

    async def close(self) -> None:
        self._worlds.standing.discard(self._number)
        await self._asked("close")
        await self._world.close()


async def meek(call: Call) -> None:
    """Does nothing."""
    del call


def failing(*numbers: int) -> Deed:
    """The calls of these numbers fail."""

    async def deed(call: Call) -> None:
        if call.number in numbers:
            raise InfrastructureError(f"call {call.number} failed")

    return deed


def stormy(seed: int, *, faults: int, slow: float = 1.0) -> Deed:
    """Every call takes up to `slow` seconds, mostly little, and fails with a probability of `faults` in a hundred."""
    stream = Stream.root("storm", seed)

    async def deed(call: Call) -> None:
        failed = stream.chance(faults)
        await asyncio.sleep(slow * (stream.below(1000) / 1000) ** 4)
        if failed and call.what != "close":
            raise InfrastructureError(f"lightning struck call {call.number}")

    return deed
