"""Worlds in lock-step: nobody is answered before everybody is, and who has ended keeps nobody waiting."""

import asyncio
from typing import Any

from palaestra.benchmarks.speed.training.lockstep import LockstepWorlds
from palaestra.records import EndReason
from palaestra.steps import AgentView
from palaestra.trainers.rollouts.world import Method, RolloutWorld, RolloutWorlds
from palaestra.trainers.rollouts.worlds import Latency


class Short(RolloutWorld):
    """Ends after so many turns as its episode's seed says."""

    async def ask(self, method: Method, *arguments: Any) -> Any:
        if method == "reset":
            _, self._left = arguments
        elif method == "step":
            self._left -= 1
            return AgentView(messages=(), end=EndReason.FINISHED if self._left == 0 else None)
        return None

    async def close(self) -> None: ...


class Shorts(RolloutWorlds):
    async def open(self) -> RolloutWorld:
        return Short()

    async def close(self) -> None: ...


async def two(first: int, second: int) -> tuple[LockstepWorlds, RolloutWorld, RolloutWorld]:
    worlds = LockstepWorlds(Shorts(), Latency(low=1e-4, high=2e-4))
    one, other = await worlds.open(), await worlds.open()
    await one.reset("a", first)
    await other.reset("b", second)
    return worlds, one, other


async def settled() -> None:
    await asyncio.sleep(0.002)


def test_nobody_is_answered_before_everybody_is() -> None:
    async def play() -> None:
        _, one, other = await two(2, 2)
        early = asyncio.ensure_future(one.step(""))
        await settled()
        assert not early.done()
        await other.step("")
        assert (await early).end is None

    asyncio.run(play())


def test_who_has_ended_was_stopped_or_closed_keeps_nobody_waiting() -> None:
    async def play() -> None:
        _, one, other = await two(1, 3)
        await asyncio.gather(one.step(""), other.step(""))
        await other.step("")
        await one.reset("a", 9)
        waits = asyncio.ensure_future(other.step(""))
        await settled()
        assert not waits.done()
        await one.stop(EndReason.MAX_TURNS)
        assert (await waits).end is not None
        await one.reset("a", 9)
        await other.reset("b", 9)
        waits = asyncio.ensure_future(other.step(""))
        await one.close()
        assert not (await waits).end is not None

    asyncio.run(play())


def test_an_answer_that_nobody_waits_for_any_more_is_dropped() -> None:
    async def play() -> None:
        _, one, other = await two(5, 5)
        given_up = asyncio.ensure_future(one.step(""))
        await settled()
        given_up.cancel()
        await one.close()
        assert (await other.step("")).end is None

    asyncio.run(play())
