"""Many trajectories at once: equal to one at a time, whatever fails; and ended at once, whenever it is closed."""

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.errors import ConfigError, EngineError, InfrastructureError
from palaestra.trainers.engines.engine import TurnRequest
from palaestra.trainers.rollouts.faults import Backoff
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.player import Player
from palaestra.trainers.rollouts.pool import PoolConfig, RolloutPool, RolloutResult
from palaestra.trainers.rollouts.script import PartialRollout
from palaestra.trainers.rollouts.worlds.local import LocalWorlds
from palaestra.trainers.rollouts.worlds.processes import ProcessWorlds
from palaestra.trajectory import Episode
from pooled.clock import run
from pooled.field import CONFIG, SHORT, Field, playing
from pooled.narrow import Narrow
from pooled.unruly import Call, failing, stormy
from rollouts.engine import ScriptedEngine
from rollouts.library import babbling, codec, jobs, library

JOBS = jobs(12, groups=3)


async def _all(pool: RolloutPool, played: Sequence[RolloutJob] = JOBS) -> list[RolloutResult]:
    return await asyncio.gather(*(pool.play(job) for job in played))


async def _one_by_one() -> list[Episode]:
    """The plain way: a player, a world, an engine, and the next."""
    episodes: list[Episode] = []
    for job in JOBS:
        world = await LocalWorlds(library()).open()
        episodes.append(await Player(job, world, ScriptedEngine(babbling()), codec(), SHORT).play())
        await world.close()
    return episodes


def test_a_pool_plays_what_a_player_alone_plays() -> None:
    async def main() -> None:
        async with playing() as field:
            played = await _all(field.pool)
            assert [one.episode for one in played] == await _one_by_one()
            assert [one.job for one in played] == JOBS
            assert {one.faults for one in played} == {()}
            assert field.pool.under_way == 0
            assert [field.pool.partial_rollout(job.trajectory) for job in JOBS] == [None] * len(JOBS)

    run(main())


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 99), st.integers(1, 12))
def test_whatever_storm_there_is_an_episode_is_what_it_would_have_been_or_none(seed: int, agents: int) -> None:
    async def main() -> tuple[list[RolloutResult], Field]:
        async with playing(deed=stormy(seed, faults=15), config=replace(CONFIG, agents=agents)) as field:
            assert isinstance(field.engine, ScriptedEngine)
            field.engine.fails = Counter({job.trajectory: seed % 4 for job in JOBS})
            return await _all(field.pool), field

    played, field = run(main())
    alone = run(_one_by_one())
    for one, episode in zip(played, alone, strict=True):
        assert one.episode in (episode, None)
        assert len(one.faults) == 3 if one.episode is None else len(one.faults) <= 2
    faults = sum(len(one.faults) for one in played)
    assert len([said for said in field.said if "failed" in said]) == faults


def test_a_fault_of_a_world_costs_a_try_in_a_fresh_one() -> None:
    async def main() -> None:
        async with playing(deed=failing(2), config=replace(CONFIG, agents=1)) as field:
            played = await _all(field.pool, JOBS[:2])
            assert [len(one.faults) for one in played] == [1, 0]
            assert [one.episode for one in played] == (await _one_by_one())[:2]
            assert field.worlds.opened == 2
            later = [call.world for call in field.worlds.calls[3:] if call.what != "close"]
            assert set(later) == {1}, "the faulty world was used again"
            assert field.said == [f"t0 ({JOBS[0].task}): try 1 of 3 failed: call 2 failed"]

    run(main())


def test_idle_worlds_that_went_the_same_way_cost_nobody_an_episode() -> None:
    """As when a process ends in which many were."""

    async def main() -> None:
        gone: set[int] = set()

        async def deed(call: Call) -> None:
            await asyncio.sleep(call.what == "step")
            if call.world in gone and call.what != "close":
                raise InfrastructureError("its process ended")

        async with playing(deed=deed) as field:
            await _all(field.pool)
            gone |= field.worlds.standing
            assert len(gone) == 8
            played = await _all(field.pool)
            assert [one.episode for one in played] == await _one_by_one()
            assert [len(one.faults) for one in played] == [1] * 8 + [0] * 4
            assert len(field.worlds.standing) == 8

    run(main())


def test_a_worker_process_that_is_killed_costs_tries_and_no_episode() -> None:
    async def main() -> None:
        worlds, tokens = ProcessWorlds(library(), workers=2), [0]

        async def pace(request: TurnRequest) -> None:
            del request
            tokens[0] += 1
            if tokens[0] == 30:
                worlds._workers[0].kill()

        engine = ScriptedEngine(babbling(), pace=pace)
        pool = RolloutPool(engine, worlds, codec(), SHORT, replace(CONFIG, agents=6), say=list[str]().append)
        played = await _all(pool)
        assert [one.episode for one in played] == await _one_by_one()
        assert any("SIGKILL" in fault for one in played for fault in one.faults)
        await pool.close()
        await worlds.close()
        await engine.close()

    asyncio.run(main())


def test_an_episode_that_is_not_to_be_counted_is_none() -> None:
    async def main() -> None:
        async with playing(void=True) as field:
            played = await field.pool.play(JOBS[0])
            assert played.episode is None
            assert played.faults == ("the world says that the episode is not to be counted",) * 3

    run(main())


@pytest.mark.parametrize("what", ["open", "reset", "step", "stop", "episode"])
def test_a_world_that_always_fails_yields_no_episode_and_no_reward(what: str) -> None:
    async def deed(call: Call) -> None:
        if call.what == what:
            raise InfrastructureError(f"no {what}")

    async def main() -> None:
        async with playing(deed=deed) as field:
            played = await _all(field.pool)
            assert [one.episode for one in played] == [None] * len(JOBS)
            assert {one.faults for one in played} == {(f"no {what}",) * 3}

    run(main())


def test_tries_after_the_second_wait_for_the_backoff() -> None:
    async def main() -> None:
        config = replace(CONFIG, world=Backoff(retries=3, first=2.0))
        async with playing(deed=failing(0, 1, 2), config=config) as field:
            played = await field.pool.play(JOBS[0])
            assert len(played.faults) == 3
            assert asyncio.get_running_loop().time() == 2 + 4 + 8

    run(main())


def test_a_crash_of_ours_is_raised_not_retried() -> None:
    async def deed(call: Call) -> None:
        if call.what == "step":
            raise KeyError("a mistake in our own code")

    async def main() -> None:
        async with playing(deed=deed) as field:
            with pytest.raises(KeyError, match="a mistake in our own code"):
                await field.pool.play(JOBS[0])
            assert field.pool.under_way == 0

    run(main())


def test_a_fault_of_the_engine_costs_time_and_nothing_else() -> None:
    async def main() -> None:
        async with playing() as field:
            assert isinstance(field.engine, ScriptedEngine)
            field.engine.fails = Counter({"t1": 3, "t5": 1})
            played = await _all(field.pool)
            assert [one.episode for one in played] == await _one_by_one()
            assert {one.faults for one in played} == {()}
            assert field.pool.engine_faults == 4

    run(main())


def test_an_engine_that_stays_dead_ends_everybody_in_the_time_of_its_backoff() -> None:
    async def main() -> None:
        async with playing() as field:
            await field.engine.close()
            outcomes = await asyncio.gather(*(field.pool.play(job) for job in JOBS[:3]), return_exceptions=True)
            assert [type(outcome) for outcome in outcomes] == [EngineError] * 3
            assert "t0 asked for a turn 4 times over at least 7 s" in str(outcomes[0])
            assert "Of 3 trajectories under way" in str(outcomes[0])
            assert asyncio.get_running_loop().time() == 1 + 2 + 4

    run(main())


def test_healthy_worlds_are_used_again_and_never_by_two_at_once() -> None:
    async def main() -> None:
        async with playing(deed=stormy(1, faults=0), config=replace(CONFIG, agents=5)) as field:
            await _all(field.pool)
            assert field.worlds.opened == 5
            calls = ["".join(call.what[:2] for call in field.worlds.calls if call.world == world) for world in range(5)]
        whole_episodes = re.compile(r"op(re(st)+(st)?ep)+")
        assert all(whole_episodes.fullmatch(one) for one in calls), calls

    run(main())


def test_no_more_are_under_way_than_there_are_agents_and_they_begin_in_order() -> None:
    async def main() -> None:
        most = 0

        async def deed(call: Call) -> None:
            nonlocal most
            most = max(most, field.pool.under_way)
            await asyncio.sleep(1 + call.number % 3)

        async with playing(deed=deed, config=replace(CONFIG, agents=5)) as field:
            await _all(field.pool)
            assert isinstance(field.engine, ScriptedEngine)
            first = dict.fromkeys(request.trajectory for request in field.engine.requests)
            assert sorted(first, key=lambda name: int(name[1:])) == [job.trajectory for job in JOBS]
            assert most == 5

    run(main())


def test_who_waits_for_a_world_is_not_in_the_engine() -> None:
    """Slow worlds and a single place in the engine: that is always taken, as long as anybody can use it."""

    async def main() -> float:
        async def deed(call: Call) -> None:
            await asyncio.sleep(9 if call.what == "step" else 0)

        async with playing(
            engine=lambda: Narrow(babbling(), slots=1, seconds=1.0), deed=deed, config=replace(CONFIG, agents=12)
        ) as field:
            await _all(field.pool)
            return asyncio.get_running_loop().time() / field.engine.stats().drawn

    per_token = run(main())
    assert per_token < 1.5, "a trajectory alone needs 9 s for each turn of 6 tokens or less"


def test_an_engine_that_is_full_is_given_no_more_trajectories() -> None:
    async def main() -> None:
        def engine() -> Narrow:
            return Narrow(babbling(), slots=2, seconds=1.0)

        played = jobs(60)
        async with playing(engine=engine, config=replace(CONFIG, agents=60)) as field:
            assert (await _all(field.pool, played))[-1].episode
            assert isinstance(field.engine, Narrow)
            assert field.pool.ceiling < 60
            assert field.engine.most <= 16, "the ceiling to begin with"

    run(main())


def test_a_trajectory_goes_on_from_where_it_was_saved() -> None:
    async def main() -> None:
        async with playing(deed=stormy(3, faults=0)) as field:
            task = asyncio.create_task(field.pool.play(JOBS[0]))
            while (begun := field.pool.partial_rollout("t0")) is None or not begun.tokens.spans:
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait([task])
        assert len(begun.tokens.spans) == 1
        async with playing() as field:
            assert isinstance(field.engine, ScriptedEngine)
            played = await field.pool.play(JOBS[0], begun=begun)
            assert len(field.engine.requests) == 1, "what was drawn is drawn again"
        assert played.episode == (await _one_by_one())[0]

    run(main())


def test_a_world_that_does_not_answer_as_it_did_costs_a_try_and_the_trajectory_begins_anew() -> None:
    async def main() -> None:
        async with playing() as field:
            episode = (await field.pool.play(JOBS[1])).episode
            assert episode is not None
            tokens = episode.segments[0].tokens
            assert tokens is not None
            other = replace(tokens, ids=(tokens.ids[0] + 1, *tokens.ids[1:]))
            played = await field.pool.play(JOBS[1], begun=PartialRollout(job=JOBS[1], tokens=other, seconds=0.0))
            assert played.episode == episode
            assert "another than the recorded one" in played.faults[0]

    run(main())


@settings(deadline=None, max_examples=20)
@given(st.floats(0, 12), st.integers(0, 9))
def test_closing_at_any_moment_ends_everything_at_once(after: float, seed: int) -> None:
    async def main() -> None:
        async with playing(
            engine=lambda: Narrow(babbling(), slots=2, seconds=0.1), deed=stormy(seed, faults=10)
        ) as field:
            tasks = [asyncio.create_task(field.pool.play(job)) for job in JOBS]
            await asyncio.sleep(after)
            before = asyncio.get_running_loop().time()
            await field.pool.close()
            assert field.pool.under_way == 0
            assert not field.worlds.standing
            await field.pool.close()
            assert asyncio.get_running_loop().time() - before <= 8, "worlds take a second to close, and no more"
            for task in (await asyncio.wait(tasks))[0]:
                assert isinstance(task.exception(), InfrastructureError | None)
            with pytest.raises(InfrastructureError, match="the pool is closed"):
                await field.pool.play(JOBS[0])

    run(main())


def test_who_is_cancelled_is_cancelled_though_the_pool_closes_at_once() -> None:
    async def main() -> None:
        async with playing(deed=stormy(1, faults=0)) as field:
            task = asyncio.create_task(field.pool.play(JOBS[0]))
            await asyncio.sleep(0.1)
            task.cancel()
            await field.pool.close()
            await asyncio.wait([task])
            assert task.cancelled()

    run(main())


@settings(deadline=None, max_examples=20)
@given(st.floats(0, 6), st.sets(st.integers(0, 11)))
def test_cancelling_some_at_any_moment_leaves_the_others_as_they_were(after: float, gone: set[int]) -> None:
    async def main() -> None:
        async with playing(deed=stormy(5, faults=0)) as field:
            tasks = [asyncio.create_task(field.pool.play(job)) for job in JOBS]
            await asyncio.sleep(after)
            for number in gone:
                tasks[number].cancel()
            await asyncio.wait(tasks)
            alone = await _one_by_one()
            for number, task in enumerate(tasks):
                assert task.cancelled() or task.result().episode == alone[number]
                assert number in gone or not task.cancelled()
            assert field.pool.under_way == 0
            assert isinstance(field.engine, ScriptedEngine)
            assert not field.engine.resident

    run(main())


@pytest.mark.parametrize(("what", "world"), [("step", 1), ("generate", 0)])
def test_a_world_that_was_left_amid_a_call_is_not_used_again(what: str, world: int) -> None:
    async def main() -> None:
        async def deed(call: Call) -> None:
            await asyncio.sleep(9 if call.what == what else 0)

        def engine() -> Narrow:
            return Narrow(babbling(), slots=1, seconds=9.0 if what == "generate" else 0.0)

        async with playing(engine=engine, deed=deed) as field:
            task = field.pool.submit(JOBS[0])
            await asyncio.sleep(5)
            task.cancel()
            await asyncio.wait([task])
            played = await field.pool.play(JOBS[1])
            assert played.faults == ()
            assert field.worlds.calls[-1].world == world

    run(main())


def test_a_world_that_will_not_close_is_left_to_itself() -> None:
    async def main() -> None:
        async def deed(call: Call) -> None:
            if call.what == "close":
                await asyncio.sleep(10**6)

        async with playing(deed=deed) as field:
            await field.pool.play(JOBS[0])
            await field.pool.close()
            assert field.said == ["a world did not close within 10 s and is left to itself"]
            assert asyncio.get_running_loop().time() == 10

    run(main())


def test_nobody_waits_for_a_world_to_close_and_cancelling_does_not_keep_it_open() -> None:
    async def main() -> None:
        closed: list[int] = []

        async def deed(call: Call) -> None:
            if call.what == "close":
                await asyncio.sleep(5)
                closed.append(call.world)
            elif call.number == 2:
                raise InfrastructureError("broken")
            elif call.what == "step":
                await asyncio.sleep(1)

        async with playing(deed=deed) as field:
            task = field.pool.submit(JOBS[0])
            await asyncio.sleep(1.5)
            assert field.worlds.calls[-1].what == "step", "the second world waits for the first to close"
            task.cancel()
            await asyncio.wait([task])
            assert asyncio.get_running_loop().time() == 1.5
            await field.pool.close()
            assert closed == [0, 1]
            assert asyncio.get_running_loop().time() == 6.5

    run(main())


def test_a_world_that_fails_while_it_closes_is_mentioned() -> None:
    async def main() -> None:
        async def deed(call: Call) -> None:
            if call.what == "close":
                raise InfrastructureError("the door is stuck")

        async with playing(deed=deed) as field:
            await field.pool.play(JOBS[0])
            await field.pool.close()
            assert field.said == ["a world failed while it was closed: InfrastructureError('the door is stuck')"]

    run(main())


def test_two_jobs_of_one_id_are_a_mistake() -> None:
    async def main() -> None:
        async with playing() as field:
            task = field.pool.submit(JOBS[0])
            with pytest.raises(ValueError, match="t0 is under way already; give each job an id of its own"):
                field.pool.submit(JOBS[0])
            await task

    run(main())


def test_time_is_told_apart_by_what_it_was_spent_on() -> None:
    async def main() -> None:
        async def deed(call: Call) -> None:
            await asyncio.sleep({"open": 1, "reset": 2, "step": 4}.get(call.what, 0))

        async with playing(
            engine=lambda: Narrow(babbling(), slots=1, seconds=0.5), deed=deed, config=replace(CONFIG, agents=1)
        ) as field:
            first, second = await _all(field.pool, JOBS[:2])
            turns = [len(list(one.episode.turns)) for one in (first, second) if one.episode]
            assert [first.world_seconds, second.world_seconds] == [1 + 2 + 4 * turns[0], 2 + 4 * turns[1]]
            drawn = field.engine.stats().drawn
            assert first.engine_seconds + second.engine_seconds == pytest.approx(0.5 * drawn)
            spent = field.pool.times()
            assert spent.played == pytest.approx(first.seconds + second.seconds)
            assert (spent.world, spent.engine) == pytest.approx((3 + 2 + 4 * sum(turns), 0.5 * drawn))

    run(main())


def test_two_runs_are_the_same_event_by_event() -> None:
    async def main() -> tuple[list[Call], list[str], list[str]]:
        async with playing(engine=lambda: Narrow(babbling(), slots=3, seconds=0.1), deed=stormy(8, faults=10)) as field:
            await _all(field.pool)
            assert isinstance(field.engine, Narrow)
            return field.worlds.calls, [request.trajectory for request in field.engine.requests], field.said

    assert run(main()) == run(main())


@pytest.mark.parametrize(("name", "value"), [("agents", 0), ("close_seconds", 0.0)])
def test_a_pool_without_room_or_patience_is_refused(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"^{name} = {value}: it must be"):
        PoolConfig(**{name: value})  # type: ignore[arg-type]
