"""Latency: drawn from a seed, waited for after the world has answered, and nothing else changes."""

import asyncio
import math

import pytest

from palaestra.seeding import Stream
from palaestra.trainers.rollouts.worlds import DelayedWorlds, Latency, LocalWorlds
from palaestra.trajectory import Episode
from pooled.clock import run
from rollouts.library import library, tasks

TOOLS = Latency(low=0.1, high=1.0)


def played(times: int, *, seed: int = 0) -> list[tuple[float, Episode]]:
    """How long a chat of three turns takes, played `times` in a row."""

    async def main() -> list[tuple[float, Episode]]:
        now = asyncio.get_running_loop().time
        worlds = DelayedWorlds(LocalWorlds(library()), TOOLS, seed=seed)
        world = await worlds.open()
        found: list[tuple[float, Episode]] = []
        for _ in range(times):
            await world.reset(tasks()[0], 0)
            before = now()
            for _ in range(3):
                await world.step("> hello")
            found.append((now() - before, await world.episode()))
        await worlds.close()
        return found

    return run(main())


def test_each_answer_takes_what_its_stream_says() -> None:
    stream = Stream.root("latency", 5, tasks()[0], 0, 1)
    [(took, _)] = played(1, seed=5)
    assert took == pytest.approx(sum(TOOLS.draw(stream) for _ in range(3)))


def test_equal_seeds_give_equal_latencies_and_each_playing_has_its_own() -> None:
    first, again, other = played(4), played(4), played(4, seed=1)
    assert first == again
    assert len({took for took, _ in [*first, *other]}) == 8


def test_a_delayed_world_plays_the_same_episode() -> None:
    (_, delayed), (_, again) = played(2)

    async def main() -> Episode:
        world = await LocalWorlds(library()).open()
        await world.reset(tasks()[0], 0)
        for _ in range(3):
            await world.step("> hello")
        return await world.episode()

    assert run(main()) == delayed == again


def test_latencies_are_log_uniform() -> None:
    stream = Stream.root("draws")
    draws = [TOOLS.draw(stream) for _ in range(20_000)]
    assert 0.1 <= min(draws) < 0.101
    assert 0.99 < max(draws) <= 1.0
    mean = (TOOLS.high - TOOLS.low) / math.log(TOOLS.high / TOOLS.low)  # the closed form, 0.391
    assert sum(draws) / len(draws) == pytest.approx(mean, rel=0.02)
    assert sum(draw < math.sqrt(0.1) for draw in draws) / len(draws) == pytest.approx(0.5, abs=0.02)
