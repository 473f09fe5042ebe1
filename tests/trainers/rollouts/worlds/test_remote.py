"""Worlds that take their worker down with them, or keep it busy for ever."""

import asyncio
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from palaestra.errors import InfrastructureError, WaitError
from palaestra.trainers.rollouts.world import RolloutWorld, RolloutWorlds
from palaestra.trainers.rollouts.worlds import ProcessWorlds, Timeouts
from rollouts.faulty import FAULTY_ID, faulty
from rollouts.library import library, tasks

WorldsFactory: TypeAlias = Callable[..., RolloutWorlds]
PLACE = f"step of {FAULTY_ID}, task '{tasks()[0]}', turn 0"


async def begun(worlds: RolloutWorlds) -> RolloutWorld:
    world = await worlds.open()
    await world.reset(tasks()[0], 0)
    return world


def lost(result: object) -> str:
    """What an `InfrastructureError` says that is no `WaitError`."""
    assert isinstance(result, InfrastructureError)
    assert not isinstance(result, WaitError)
    return str(result)


@pytest.mark.parametrize(("deed", "code"), [("!exit", "exit code 3"), ("!kill", "SIGKILL|connection error")])
def test_a_worker_that_dies_is_replaced_and_its_worlds_say_of_what(
    remote: WorldsFactory, runner: asyncio.Runner, deed: str, code: str
) -> None:
    async def main() -> None:
        worlds = remote(faulty(), workers=2)
        mad, elsewhere, beside = [await begun(worlds) for _ in range(3)]  # the third shares the first one's worker
        results: list[object] = [
            *await asyncio.gather(mad.step(deed), beside.step("> hello"), return_exceptions=True),
            *await asyncio.gather(beside.step("> hello"), beside.reset(tasks()[1], 0), return_exceptions=True),
            *await asyncio.gather(mad.episode(), return_exceptions=True),
        ]
        for result in results:
            assert re.search(rf"(worker process|pid:) \d+(.|\n)*({code})", lost(result))
        assert all(PLACE in str(result) for result in results[:2])
        assert (await elsewhere.step("> hello")).end is None
        anew = await begun(worlds)
        assert (await anew.step("> hello")).end is None
        await worlds.close()

    runner.run(main())


def test_a_world_that_hangs_is_named_and_its_worker_is_replaced(remote: WorldsFactory, runner: asyncio.Runner) -> None:
    async def main() -> None:
        worlds = remote(faulty(), timeouts=Timeouts(step=2.0))
        hanging, beside = await begun(worlds), await begun(worlds)
        hung, waited = await asyncio.gather(hanging.step("!hang"), beside.reset(tasks()[1], 0), return_exceptions=True)
        assert isinstance(hung, WaitError)
        assert str(hung).startswith(f"{PLACE}: waited 2 s for ")
        assert f"another of its worlds hung ({PLACE})" in lost(waited)
        for world in (hanging, beside):
            with pytest.raises(InfrastructureError, match="was ended because another of its worlds hung"):
                await world.episode()
        anew = await begun(worlds)
        assert (await anew.step("> hello")).end is None
        await worlds.close()

    runner.run(main())


def test_a_world_that_hangs_is_found_when_nobody_waits_for_it_any_more(
    remote: WorldsFactory, runner: asyncio.Runner
) -> None:
    async def main() -> None:
        worlds = remote(faulty(), timeouts=Timeouts(step=2.0))
        hanging, beside = await begun(worlds), await begun(worlds)
        given_up = asyncio.ensure_future(hanging.step("!hang"))
        await asyncio.sleep(0)
        given_up.cancel()
        assert "another of its worlds hung" in lost(
            (await asyncio.gather(beside.step("> hi"), return_exceptions=True))[0]
        )
        await hanging.close()
        await worlds.close()

    runner.run(main())


def test_a_worker_that_is_busy_with_its_other_worlds_makes_nobody_late(
    remote: WorldsFactory, runner: asyncio.Runner
) -> None:
    async def main() -> None:
        worlds = remote(faulty(), timeouts=Timeouts(step=2.5))
        several = [await begun(worlds) for _ in range(7)]  # which take 2.8 s together
        answers = await asyncio.gather(*(world.step("!dawdle") for world in several))
        assert all(answer.end is None for answer in answers)
        await worlds.close()

    runner.run(main())


@pytest.mark.parametrize(
    ("timeouts", "switches", "says"),
    [
        (Timeouts(open=0.01), {}, f"open of {FAULTY_ID}: waited 0.01 s for "),
        (Timeouts(reset=0.5), {"on_reset": "!hang"}, f"reset of {FAULTY_ID}, task '{tasks()[0]}': waited 0.5 s for "),
    ],
    ids=["open", "reset"],
)
def test_every_wait_ends(
    remote: WorldsFactory, runner: asyncio.Runner, timeouts: Timeouts, switches: dict[str, Any], says: str
) -> None:
    async def main() -> None:
        worlds = remote(faulty(**switches), timeouts=timeouts)
        with pytest.raises(WaitError) as raised:
            await begun(worlds)
        assert str(raised.value).startswith(says)
        await worlds.close()

    runner.run(main())


def test_a_world_that_hangs_as_it_is_freed_holds_nobody_up(remote: WorldsFactory, runner: asyncio.Runner) -> None:
    async def main() -> None:
        worlds = remote(faulty(on_close="!hang"), timeouts=Timeouts(episode=0.5))
        first, second = await begun(worlds), await begun(worlds)
        await first.close()
        with pytest.raises(InfrastructureError, match=rf"another of its worlds hung \(close of {FAULTY_ID}"):
            await second.step("> hello")
        await worlds.close()

    runner.run(main())


def test_worlds_are_spread_over_the_workers(remote: WorldsFactory, runner: asyncio.Runner) -> None:
    async def main() -> None:
        worlds: Any = remote(library(), workers=2)
        several = await asyncio.gather(*(worlds.open() for _ in range(6)))
        assert [worker.worlds for worker in worlds._workers] == [3, 3]
        for world in several[::2]:  # those of the first
            await world.close()
        assert [worker.worlds for worker in worlds._workers] == [0, 3]
        assert [(await worlds.open())._worker for _ in range(3)] == [worlds._workers[0]] * 3
        await worlds.close()

    runner.run(main())


# What is asked for


def test_a_spec_that_cannot_be_sent_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"does not pickle .*, so it cannot be sent to a worker"):
        ProcessWorlds(library(user=lambda: None))


def test_worlds_need_a_worker() -> None:
    with pytest.raises(ValueError, match="workers=0: worlds need at least 1"):
        ProcessWorlds(library(), workers=0)


@pytest.mark.parametrize("name", ["open", "reset", "step", "episode"])
def test_a_timeout_is_above_0(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}=0: a time-out is above 0"):
        Timeouts(**{name: 0})
