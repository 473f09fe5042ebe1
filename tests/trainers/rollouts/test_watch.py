"""Waiting, told apart and added up."""

import asyncio

import pytest

from palaestra.errors import InfrastructureError
from palaestra.trainers.rollouts.watch import RolloutStatus, Waiting, WatchedWorld, waits
from palaestra.trainers.rollouts.worlds.local import LocalWorlds
from pooled.clock import run
from pooled.unruly import Deed, Unruly, failing
from rollouts.library import jobs, library

JOBS = jobs(4)


async def _asleep(flight: RolloutStatus, what: Waiting, seconds: float) -> None:
    with flight.waits(what):
        await asyncio.sleep(seconds)


def test_every_second_belongs_to_what_was_waited_for() -> None:
    async def main() -> None:
        flight = RolloutStatus(JOBS[0])
        await asyncio.sleep(1)
        flight.take_place()
        for what, seconds in (("its world", 2), ("the engine", 4), ("its world", 8), ("a fault to pass", 16)):
            await _asleep(flight, what, seconds)  # type: ignore[arg-type]
            await asyncio.sleep(32)
        assert flight.seconds("a place") == 1
        assert flight.seconds("its world") == 10
        assert flight.seconds("the engine", "a fault to pass") == 20
        assert flight.seconds("nothing") == 4 * 32
        with flight.waits("its world"):
            await asyncio.sleep(5)
            assert flight.seconds("its world") == 15

    run(main())


def test_who_waits_for_what_is_said_with_the_longest_by_name() -> None:
    async def main() -> None:
        flights = [RolloutStatus(job) for job in JOBS]
        assert waits([]) == "nobody waits for anything"
        for flight in flights[:3]:
            flight.take_place()
        tasks = [
            asyncio.create_task(_asleep(flights[0], "its world", 100)),
            asyncio.create_task(_asleep(flights[1], "the engine", 100)),
        ]
        await asyncio.sleep(3)
        tasks.append(asyncio.create_task(_asleep(flights[2], "its world", 100)))
        await asyncio.sleep(4)
        assert waits(flights) == (
            "2 wait for its world (t0 for 7.0 s), 1 waits for the engine (t1 for 7.0 s), "
            "1 waits for a place (t3 for 7.0 s)"
        )
        await asyncio.wait(tasks)

    run(main())


async def _reset(watched: WatchedWorld) -> None:
    with watched.asking():
        await watched.world.reset(JOBS[0].task, 0)


async def _step(watched: WatchedWorld) -> None:
    with watched.asking():
        await watched.world.step("")


async def _watched(deed: Deed) -> WatchedWorld:
    world = WatchedWorld(await Unruly(LocalWorlds(library()), deed).open())
    world.flight = RolloutStatus(JOBS[0])
    return world


def test_a_world_is_of_use_until_a_call_fails_or_is_given_up() -> None:
    async def main() -> None:
        world = await _watched(failing(2))
        await _reset(world)
        assert (world.sound, world.fault) == (True, None)
        with pytest.raises(InfrastructureError, match="call 2 failed"):
            await _step(world)
        assert not world.sound
        assert str(world.fault) == "call 2 failed"

        hanging = await _watched(lambda call: asyncio.sleep(10**6 if call.what == "step" else 0))
        await _reset(hanging)
        task = asyncio.create_task(_step(hanging))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait([task])
        assert (hanging.sound, hanging.fault) == (False, None)

    run(main())
