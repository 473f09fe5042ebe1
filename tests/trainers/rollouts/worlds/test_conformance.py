"""What holds for worlds wherever they run."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeAlias

import gymnasium as gym
import pytest

from palaestra.agents import ScriptedAgent, rollout
from palaestra.agents.hosted import WorldSpec
from palaestra.errors import EpisodeOverError, InfrastructureError, UnknownNameError
from palaestra.records import EndReason
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.rollouts.world import RolloutWorld, RolloutWorlds
from palaestra.trajectory import Episode, dump_episode
from rollouts.faulty import FAULTY_ID, faulty
from rollouts.library import library, shown, tasks

WorldsFactory: TypeAlias = Callable[..., RolloutWorlds]


@pytest.fixture(scope="module")
def worlds(kind: WorldsFactory, runner: asyncio.Runner) -> Iterator[RolloutWorlds]:
    """Of each kind, shared by the tests."""
    made = kind(faulty())
    yield made
    runner.run(made.close())


@asynccontextmanager
async def opened(worlds: RolloutWorlds) -> AsyncGenerator[RolloutWorld]:
    world = await worlds.open()
    yield world
    await world.close()


def texts_of(episode: Episode) -> list[str]:
    form = CHAT_FORMATS.get("compact")
    return [form.render(turn.calls) for turn in episode.turns]


async def played(world: RolloutWorld, task: str, texts: Sequence[str], seed: int = 0) -> Episode:
    await world.reset(task, seed)
    for text in texts:
        if (await world.step(text)).end:
            break
    return await world.episode()


# Faults


@pytest.mark.parametrize(
    ("deed", "says"),
    [
        ("!crash", f"{FAULTY_ID}, task '{tasks()[2]}', turn 1: step raised KeyError: 'shelf 9'"),
        ("!odd", f"{FAULTY_ID}, task '{tasks()[2]}', turn 1: step raised OddError: rust, dust"),
        ("!fault", "the disk is gone"),
    ],
    ids=["crash", "odd", "fault"],
)
def test_a_world_that_fails_voids_its_episode_and_plays_the_next(
    worlds: RolloutWorlds, runner: asyncio.Runner, deed: str, says: str
) -> None:
    async def main() -> None:
        texts = texts_of(shown()[2])
        async with opened(worlds) as world:
            whole = await played(world, tasks()[2], texts)
            await world.reset(tasks()[2], 0)
            await world.step(texts[0])
            with pytest.raises(InfrastructureError) as raised:
                await world.step(deed)
            assert says in str(raised.value)
            void = await world.episode()
            assert (void.valid_for_baseline, void.end, void.score.points) == (False, None, 0)
            assert list(void.turns) == list(whole.turns)[:1]
            with pytest.raises(EpisodeOverError, match="is over; reset the world first"):
                await world.step(texts[1])
            assert await played(world, tasks()[2], texts) == whole

    runner.run(main())


@pytest.mark.parametrize("deed", ["!crash", "!odd"])
def test_a_world_that_crashes_as_it_begins_is_at_fault(kind: WorldsFactory, runner: asyncio.Runner, deed: str) -> None:
    async def main() -> None:
        worlds = kind(faulty(on_reset=deed))
        world = await worlds.open()
        with pytest.raises(InfrastructureError, match=rf"{FAULTY_ID}, task '{tasks()[0]}', turn 0: reset raised"):
            await world.reset(tasks()[0], 0)
        await worlds.close()

    runner.run(main())


def test_a_users_mistake_is_not_the_worlds(worlds: RolloutWorlds, kind: WorldsFactory, runner: asyncio.Runner) -> None:
    async def main() -> None:
        async with opened(worlds) as world:
            with pytest.raises(UnknownNameError, match=f"did you mean '{tasks()[0]}'"):
                await world.reset(tasks()[0] + "x", 0)
        for spec, error, says in (
            (library(split="trian"), UnknownNameError, "unknown split 'trian'"),
            (library(imports=("no_such_module",)), ModuleNotFoundError, "no_such_module"),
            (library(no_such_switch=1), TypeError, "no_such_switch"),
        ):
            others = kind(spec)
            with pytest.raises(error, match=says):
                await others.open()
            await others.close()

    runner.run(main())


def test_an_environment_that_nobody_registered_is_named(kind: WorldsFactory, runner: asyncio.Runner) -> None:
    async def main() -> None:
        others = kind(WorldSpec(env_id="palaestra/Nowhere-v0", action_format="compact"))
        with pytest.raises(gym.error.Error, match="Nowhere"):
            await others.open()
        await others.close()

    runner.run(main())


def test_without_an_episode_there_is_nothing_to_step_or_stop_or_hand_over(
    worlds: RolloutWorlds, runner: asyncio.Runner
) -> None:
    async def main() -> None:
        async with opened(worlds) as world:
            for asked in (world.step("> hello"), world.stop(EndReason.TOKEN_BUDGET), world.episode()):
                with pytest.raises(EpisodeOverError, match="no episode has begun in this world"):
                    await asked
            await world.reset(tasks()[0], 0)
            await world.stop(EndReason.TOKEN_BUDGET)
            with pytest.raises(EpisodeOverError, match="is over"):
                await world.step("> hello")

    runner.run(main())


# Sameness


@pytest.mark.parametrize("seed", [0, 3])
def test_the_same_texts_make_the_same_episode_bit_for_bit(
    worlds: RolloutWorlds, runner: asyncio.Runner, seed: int
) -> None:
    async def main() -> None:
        env = gym.make(FAULTY_ID, action_format="compact")
        async with opened(worlds) as world:
            for episode in shown()[::3]:
                for texts in (texts_of(episode), ["> hello", "get_loan loan_id=LN-1", "{", "\ud800", "finish"]):
                    there = await played(world, episode.task.id, texts, seed)
                    here = rollout(
                        env, ScriptedAgent(partial(list, texts)), name="policy", seed=seed, task=episode.task.id
                    )
                    assert there == here
                    assert there.digest() == here.digest()
                    assert dump_episode(there) == dump_episode(here)

    runner.run(main())


def test_what_is_shown_is_what_the_environment_shows(worlds: RolloutWorlds, runner: asyncio.Runner) -> None:
    async def main() -> None:
        async with opened(worlds) as world:
            opening = await world.reset(tasks()[1], 0)
            texts = texts_of(shown()[1])
            answers = [await world.step(text) for text in texts]
            (segment,) = (await world.episode()).segments
        assert opening.messages == segment.prompt == shown()[1].segments[0].prompt
        assert opening.tools == shown()[1].tools
        assert [answer.messages for answer in answers] == [turn.observation for turn in segment.turns]
        assert [answer.end for answer in answers] == [None] * (len(texts) - 1) + [EndReason.FINISHED]

    runner.run(main())


def test_worlds_that_play_at_once_do_not_disturb_each_other(worlds: RolloutWorlds, runner: asyncio.Runner) -> None:
    async def main() -> None:
        some = shown()[:4]
        async with opened(worlds) as world:
            alone = [await played(world, episode.task.id, texts_of(episode)) for episode in some]
        several = [await worlds.open() for _ in some]
        beside = await asyncio.gather(
            *(played(world, e.task.id, texts_of(e)) for world, e in zip(several, some, strict=True))
        )
        assert beside == alone
        for world in several:
            await world.close()

    runner.run(main())


# Ends


@pytest.mark.parametrize("reason", [EndReason.TOKEN_BUDGET, EndReason.MAX_TURNS, EndReason.TIME_BUDGET])
def test_a_budget_ends_an_episode_with_the_score_that_it_has(
    worlds: RolloutWorlds, runner: asyncio.Runner, reason: EndReason
) -> None:
    async def main() -> None:
        texts = texts_of(shown()[0])
        async with opened(worlds) as world:
            await world.reset(tasks()[0], 0)
            for text in texts[:-1]:
                await world.step(text)
            await world.stop(reason)
            episode = await world.episode()
        assert (episode.end, episode.valid_for_baseline, episode.score.passed) == (reason, True, False)
        assert episode.score.points == episode.episode_return > 0

    runner.run(main())
    assert not reason.terminates


def test_what_is_closed_says_so(kind: WorldsFactory, runner: asyncio.Runner) -> None:
    async def main() -> None:
        worlds = kind(library())
        closed, other = await worlds.open(), await worlds.open()
        await closed.close()
        await closed.close()
        with pytest.raises(InfrastructureError, match="this world was closed"):
            await closed.reset(tasks()[0], 0)
        await other.reset(tasks()[0], 0)
        await worlds.close()
        await worlds.close()
        with pytest.raises(InfrastructureError, match="closed"):
            await other.step("> hello")
        with pytest.raises(InfrastructureError, match="these worlds were closed"):
            await worlds.open()
        await other.close()

    runner.run(main())
