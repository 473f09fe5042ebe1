"""Groups for training: none too old, none lost, none counted twice, and nobody waits for ever."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaestra.errors import EngineError, InfrastructureError, WaitError
from palaestra.trainers.rollouts.groups import GroupRule, RolloutGroup, RuleKind, TaskPlan
from palaestra.trainers.rollouts.job import RolloutJob
from palaestra.trainers.rollouts.player import Player
from palaestra.trainers.rollouts.staleness import Staleness
from palaestra.trainers.rollouts.state import dump_state, load_state
from palaestra.trainers.rollouts.worlds.local import LocalWorlds
from palaestra.trajectory import Episode
from pooled.clock import run
from pooled.field import CONFIG, PLAN, SHORT, ByVersion, Training, training
from pooled.narrow import Narrow
from pooled.unruly import Call, Deed, stormy
from rollouts.engine import ScriptedEngine
from rollouts.library import babbling, codec, library, tasks

SYNCHRONOUS, AHEAD = Staleness(per_step=2), Staleness(per_step=2, staleness=2, window=3)
RULES: dict[RuleKind, GroupRule] = {
    "complete": GroupRule(),
    "partial": GroupRule(kind="partial", minimum=2),
    "top_up": GroupRule(kind="top_up", extras=2),
}


async def _alone(job: RolloutJob) -> Episode:
    world = await LocalWorlds(library()).open()
    episode = await Player(job, world, ScriptedEngine(babbling()), codec(), SHORT).play()
    await world.close()
    return episode


def _ids(groups: Sequence[RolloutGroup]) -> list[str]:
    return [episode.id for group in groups for episode in group.episodes]


async def _for_ever(at_work: Training) -> None:
    while True:
        await at_work.step()


def _hanging(*tasks_of: str, what: str = "step") -> Deed:
    async def deed(call: Call) -> None:
        await asyncio.sleep(10**9 if call.what == what and call.task in tasks_of else 0)

    return deed


def _broken(*tasks_of: str) -> Deed:
    async def deed(call: Call) -> None:
        if call.what == "step" and call.task in tasks_of:
            raise InfrastructureError("the shelf is on fire")

    return deed


def _task(index: int) -> str:
    return PLAN.group(index)[0].task


def test_synchronous_training_gets_the_groups_of_each_step_under_its_own_weights() -> None:
    async def main() -> None:
        async with training(SYNCHRONOUS) as at_work:
            for step in range(4):
                groups = await at_work.source.take(1.0)
                assert [group.index for group in groups] == [2 * step, 2 * step + 1]
                assert [group.version for group in groups] == [step, step]
                await asyncio.sleep(100)
                assert at_work.source.pending == 0, "a group was begun before the step was trained"
                await at_work.field.engine.update_weights({}, step + 1)
                at_work.source.advance(step + 1)
            played = [await _alone(job) for index in (0, 1) for job in PLAN.group(index)]
            assert at_work.source.counts().handed == 4 * 2 * 3
        async with training(SYNCHRONOUS) as at_work:
            groups = await at_work.source.take(1.0)
            assert [episode for group in groups for episode in group.episodes] == played

    run(main())


@settings(deadline=None, max_examples=40)
@given(
    st.builds(Staleness, per_step=st.integers(1, 3), staleness=st.integers(0, 2), window=st.integers(0, 4)),
    st.sampled_from(sorted(RULES)),
    st.integers(0, 10**6),
    st.integers(0, 40),
    st.integers(0, 3),
)
def test_in_any_storm_counts_add_up_and_no_group_is_too_old_or_comes_twice(
    limits: Staleness, rule: RuleKind, seed: int, faults: int, refill: int
) -> None:
    async def main() -> None:
        async with training(
            limits, rule=RULES[rule], deed=stormy(seed, faults=faults), wanted=_even, refill=refill
        ) as at_work:
            source = at_work.source
            for step in range(5):
                try:
                    groups = await at_work.step()
                except InfrastructureError:  # it can happen by chance that so many groups break
                    assert source.counts().broken >= 8
                    break
                assert len(groups) == limits.per_step
                for group in groups:
                    assert step - group.version <= limits.bound
                    assert all(min(_versions(episode)) >= group.version for episode in group.episodes)
                    assert all(episode.valid_for_baseline for episode in group.episodes)
                    assert len(group.episodes) >= (2 if rule == "partial" else 3)
            assert len(set(_ids(at_work.taken))) == len(_ids(at_work.taken)) == source.counts().handed
            assert sum(source.gauge().staleness.values()) == len(at_work.taken) == source.counts().taken
            assert source.counts().unwanted <= refill * (source.counts().taken + limits.per_step)

    run(main())


@settings(deadline=None, max_examples=30)
@given(
    st.builds(Staleness, per_step=st.integers(1, 3), staleness=st.integers(0, 4)),
    st.sampled_from(sorted(RULES)),
    st.integers(0, 10**6),
    st.integers(0, 30),
    st.integers(0, 3),
)
def test_drained_groups_are_exactly_as_old_as_is_allowed_in_any_storm(
    limits: Staleness, rule: RuleKind, seed: int, faults: int, refill: int
) -> None:
    """Also in a pool with room for fewer than may be begun; without draining, room decides how old they are."""

    async def main() -> None:
        async with training(
            limits, rule=RULES[rule], deed=stormy(seed, faults=faults), wanted=_even, refill=refill, drain=True
        ) as at_work:
            for step in range(7):
                try:
                    groups = await at_work.step()
                except InfrastructureError:  # it can happen by chance that so many groups break
                    assert at_work.source.counts().broken >= 8
                    break
                assert {group.version for group in groups} == {max(0, step - limits.staleness)}
                versions = {version for group in groups for episode in group.episodes for version in _versions(episode)}
                assert versions == {max(0, step - limits.staleness)}

    run(main())


def _even(group: RolloutGroup) -> bool:
    return group.index % 2 == 0


@pytest.mark.parametrize("limits", [SYNCHRONOUS, AHEAD])
def test_groups_that_are_not_wanted_are_replaced_by_others(limits: Staleness) -> None:
    async def main() -> None:
        async with training(limits, wanted=_even, refill=9) as at_work:
            for step in range(4):
                groups = await at_work.step()
                assert all(map(_even, groups))
                assert all(step - group.version <= limits.bound for group in groups)
            assert sorted(group.index for group in at_work.taken) == [2 * n for n in range(8)]
            assert at_work.source.counts().unwanted >= 7

    run(main())


def test_where_nothing_is_wanted_a_step_takes_what_there_is_after_as_many_as_may_be_replaced() -> None:
    async def main() -> None:
        async with training(SYNCHRONOUS, wanted=lambda group: False, refill=3) as at_work:
            assert [group.index for group in await at_work.step()] == [6, 7]
            assert at_work.source.counts().unwanted == 6
            assert [group.index for group in await at_work.step()] == [14, 15]

    run(main())


def test_a_run_that_goes_on_replaces_the_same_groups() -> None:
    async def whole() -> list[int]:
        async with training(SYNCHRONOUS, wanted=_even, refill=9) as at_work:
            return [group.index for _ in range(3) for group in await at_work.step()]

    async def broken() -> list[int]:
        async with training(SYNCHRONOUS, wanted=_even, refill=9) as at_work:
            first = [group.index for group in await at_work.step()]
            state = dump_state(at_work.source.state())
        async with training(SYNCHRONOUS, wanted=_even, refill=9, state=state) as at_work:
            return first + [group.index for _ in range(2) for group in await at_work.step()]

    assert run(whole()) == run(broken()) == [0, 2, 4, 6, 8, 10]


def _versions(episode: Episode) -> list[int]:
    tokens = episode.segments[0].tokens
    assert tokens is not None
    return [version for version, own in zip(tokens.versions, tokens.sampled, strict=True) if own]


def test_a_slow_group_is_overtaken_by_as_many_as_the_window_lets_and_then_waited_for() -> None:
    slow = _task(1)

    async def main() -> None:
        async def deed(call: Call) -> None:
            if call.what == "step" and call.task == slow and asyncio.get_running_loop().time() < 50:
                await asyncio.sleep(50 - asyncio.get_running_loop().time())

        limits = Staleness(per_step=1, staleness=5, window=3)
        async with training(limits, deed=deed, config=replace(CONFIG, agents=64)) as at_work:
            taken = [[group.index for group in await at_work.step()] for _ in range(5)]
            assert taken == [[0], [2], [3], [4], [1]]
            assert asyncio.get_running_loop().time() == 50
            assert at_work.source.gauge().staleness[4] == 1

    run(main())


def test_the_groups_that_another_run_took_are_waited_for_whichever_are_ready() -> None:
    async def main() -> None:
        limits = Staleness(per_step=2, staleness=2)
        async with training(limits, deed=stormy(4, faults=0), config=replace(CONFIG, agents=64)) as at_work:
            assert [group.index for group in await at_work.source.take(100.0, only=[5, 2])] == [5, 2]
            at_work.check()
            assert [group.index for group in await at_work.source.take(100.0)] == [0, 1]
            with pytest.raises(WaitError):
                await at_work.source.take(100.0, only=[2])

    run(main())


def test_no_group_begins_before_the_version_at_which_it_did_in_another_run() -> None:
    async def main() -> None:
        limits = Staleness(per_step=1, staleness=2)
        begun = {0: 0, 1: 1, 4: 4, 5: 4}
        seen: list[tuple[int, int]] = []
        async with training(
            limits, begun=begun, on_begin=lambda index, version: seen.append((index, version))
        ) as at_work:
            for _ in range(6):
                await at_work.step()
            assert [group.version for group in at_work.taken] == [0, 1, 1, 1, 4, 4]
            pending = at_work.source.position().pending
            assert seen == [*enumerate([0, 1, 1, 1, 4, 4]), *pending.items()]

    run(main())


def test_a_group_that_begins_later_than_in_another_run_plays_what_it_played_there() -> None:
    async def main() -> None:
        limits = Staleness(per_step=1, staleness=4)
        plan, begun = TaskPlan(tasks(), size=3, seed=5, choice=ByVersion()), dict.fromkeys(range(5), 0)
        async with training(limits, plan=plan, begun=begun, config=replace(CONFIG, agents=1)) as at_work:
            for _ in range(5):
                await at_work.step()
            assert min(map(min, map(_versions, at_work.taken[4].episodes))) > 0, "it began later"
            assert [group.task for group in at_work.taken] == [ByVersion().task(index, 0) for index in range(5)]

    run(main())


@pytest.mark.parametrize("drain", [False, True])
def test_groups_that_are_skipped_take_no_place_and_begin_when_they_would(drain: bool) -> None:
    async def main() -> None:
        limits = Staleness(per_step=1, staleness=2)
        async with training(limits, drain=drain) as at_work:
            await at_work.step()
            state = dump_state(at_work.source.state())
        async with training(limits, state=state, drain=drain) as at_work:
            pending = [group.index for group in load_state(state).groups]
            assert pending
            assert at_work.source.skip([0, pending[-1], 4]) == 2
            for _ in range(4):
                await at_work.step()
            assert not {0, pending[-1], 4} & {group.index for group in at_work.taken}
            assert at_work.source.counts().quarantined == 2
            for step, group in enumerate(at_work.taken, 1):
                assert step - group.version <= limits.bound

    run(main())


def test_a_group_begins_only_when_there_is_room_for_its_first_trajectory() -> None:
    """So its version is that of the weights under which it is really begun."""

    async def main() -> None:
        limits = Staleness(per_step=1, staleness=9)
        async with training(limits, deed=stormy(1, faults=0), config=replace(CONFIG, agents=3)) as at_work:
            for _ in range(6):
                (group,) = await at_work.step()
                assert min(map(min, map(_versions, group.episodes))) >= group.version
                assert at_work.source.pending <= 2
            assert at_work.taken[-1].version == 3, "ten groups may be begun at version 0"

    run(main())


def test_a_failed_trajectory_breaks_its_group_and_the_next_takes_its_place() -> None:
    async def main() -> None:
        limits = Staleness(per_step=1, staleness=0)
        async with training(limits, deed=_broken(_task(1))) as at_work:
            taken = [(await at_work.step())[0] for _ in range(3)]
            counts = at_work.source.counts()
            assert [group.index for group in taken][:2] == [0, 2]
            assert (counts.broken, counts.failed + counts.cancelled) == (1, 3)
            assert "shelf is on fire" in at_work.field.said[-1]
            assert any(said.startswith("group 1 is dropped, with 1 failed") for said in at_work.field.said)

    run(main())


def test_a_partial_group_goes_without_those_that_failed() -> None:
    async def main() -> None:
        rule = GroupRule(kind="partial", minimum=1)
        calls = [0]

        async def deed(call: Call) -> None:
            if call.what == "reset" and call.task == _task(0):
                calls[0] += 1
                if calls[0] != 2:
                    raise InfrastructureError("only the second opens")

        async with training(Staleness(per_step=1), rule=rule, deed=deed) as at_work:
            (group,) = await at_work.step()
            assert (len(group.episodes), group.failed, group.straggled) == (1, 2, 0)
            assert at_work.source.counts().failed == 2

    run(main())


def test_a_topped_up_group_is_as_large_as_planned() -> None:
    async def main() -> None:
        failing = {"train/0/1", "train/0/3"}
        at_work_box: list[ScriptedEngine] = []

        async def deed(call: Call) -> None:
            if call.what != "step":
                return
            (engine,) = at_work_box
            if call.number >= 0 and engine.requests[-1].trajectory in failing:
                raise InfrastructureError("not this one")

        async with training(
            Staleness(per_step=1), rule=RULES["top_up"], deed=deed, config=replace(CONFIG, agents=1)
        ) as at_work:
            assert isinstance(at_work.field.engine, ScriptedEngine)
            at_work_box.append(at_work.field.engine)
            (group,) = await at_work.step()
            assert _ids([group]) == ["train/0/0", "train/0/2", "train/0/4"]
            assert group.episodes[-1] == await _alone(PLAN.further(0, 1))
            counts = at_work.source.counts()
            assert (counts.extra, counts.failed, counts.retried, group.failed) == (2, 2, 4, 2)

    run(main())


def test_stragglers_are_cut_off_after_their_time_and_are_not_failures() -> None:
    async def main() -> None:
        steps = [0]

        async def deed(call: Call) -> None:
            if call.what == "reset":
                steps[0] += 1
                await asyncio.sleep(10**9 if steps[0] == 2 else steps[0])

        rule = GroupRule(kind="partial", minimum=2, enough=2, straggler_seconds=30.0)
        async with training(Staleness(per_step=1), rule=rule, deed=deed) as at_work:
            (group,) = await at_work.source.take(1000.0)
            await asyncio.sleep(0)
            assert at_work.field.pool.under_way == 0, "who is cut off plays on"
            assert (len(group.episodes), group.failed, group.straggled) == (2, 0, 1)
            assert at_work.source.counts().straggled == 1
            assert asyncio.get_running_loop().time() == 3 + 30

    run(main())


def test_a_group_that_is_whole_before_the_stragglers_time_is_not_cut() -> None:
    async def main() -> None:
        rule = GroupRule(kind="partial", minimum=2, enough=2, straggler_seconds=30.0)
        async with training(Staleness(per_step=1), rule=rule, deed=stormy(2, faults=0)) as at_work:
            for _ in range(3):
                (group,) = await at_work.step()
                assert (len(group.episodes), group.straggled) == (3, 0)
            await asyncio.sleep(100)

    run(main())


@pytest.mark.parametrize("close", [False, True])
def test_a_group_that_is_dropped_or_closed_has_no_stragglers_later(close: bool) -> None:
    async def main() -> None:
        steps = [0]

        async def deed(call: Call) -> None:
            if call.what == "reset":
                steps[0] += 1
                await asyncio.sleep(10**9 if steps[0] % 3 == 0 else 0)

        rule = GroupRule(kind="partial", minimum=2, enough=2, straggler_seconds=30.0)
        async with training(Staleness(per_step=1), rule=rule, deed=deed) as at_work:
            with pytest.raises(WaitError):
                await at_work.source.take(10.0)
            if close:
                await at_work.source.close()
            else:
                assert at_work.source.drop_older(1) == 1
            await asyncio.sleep(25)
            assert at_work.source.counts().straggled == 0

    run(main())


def test_a_refresh_drops_what_is_too_old_and_begins_anew() -> None:
    async def main() -> None:
        async with training(AHEAD, deed=_hanging(_task(2)), config=replace(CONFIG, agents=64)) as at_work:
            source = at_work.source
            await at_work.step()
            await asyncio.sleep(1)
            before = source.state()
            assert {group.version for group in before.groups} == {0, 1}
            old = sum(group.version < 1 for group in before.groups)
            assert source.drop_older(1) == old == 4
            at_work.check()
            assert {group.version for group in source.state().groups} == {1}
            assert source.drop_older(1) == 0
            taken = await at_work.step()
            assert [group.index for group in taken] == [6, 7]
            counts = source.counts()
            assert counts.stale == 4
            # Group 2 hangs; the others had finished in vain.
            assert (counts.cancelled, counts.discarded) == (3, 9)

    run(main())


def test_a_wait_that_is_too_long_says_who_waits_for_what_and_can_be_taken_up_again() -> None:
    async def main() -> str:
        opened = asyncio.Event()

        async def deed(call: Call) -> None:
            if call.what == "step" and call.task == _task(1):
                await opened.wait()

        async with training(SYNCHRONOUS, deed=deed) as at_work:
            with pytest.raises(WaitError) as raised:
                await at_work.source.take(60.0)
            assert asyncio.get_running_loop().time() == 60
            opened.set()
            assert [group.index for group in await at_work.source.take(60.0)] == [0, 1]
            return str(raised.value)

    said = run(main())
    assert said == (
        "step 1 waited for 2 groups, and for 60 s no trajectory ended; 1 groups are complete, under way are "
        "1 (0 of 3 ended); group 2 may begin at version 1, and the weights are at 0. Of 3 trajectories, 3 wait for its "
        "world (train/1/0 for 60.0 s); the engine draws 0 turns, and 0 stand in line"
    )


def test_a_time_out_begins_again_with_every_trajectory_that_ends() -> None:
    async def main() -> None:
        async def deed(call: Call) -> None:
            await asyncio.sleep(9 if call.what == "step" else 0)

        async with training(SYNCHRONOUS, deed=deed, config=replace(CONFIG, agents=1)) as at_work:
            await at_work.step(timeout=20.0)
            assert asyncio.get_running_loop().time() > 50

    run(main())


def test_a_dead_engine_is_told_to_whoever_takes_and_the_state_can_still_be_saved() -> None:
    async def main() -> None:
        async with training(AHEAD) as at_work:
            await at_work.step()
            await at_work.field.engine.close()
            with pytest.raises(EngineError, match="the engine did not recover"):
                await _for_ever(at_work)
            state = at_work.source.state()
            assert sum(member.fate is None for group in state.groups for member in group.members) > 0
            with pytest.raises(EngineError):
                await at_work.source.take(1.0)

    run(main())


def test_where_every_group_breaks_the_last_cause_is_told() -> None:
    async def main() -> None:
        async with training(AHEAD, deed=_broken(*tasks())) as at_work:
            with pytest.raises(
                InfrastructureError,
                match=r"8 groups in a row broke, and \d+ trajectories failed .*the shelf is on fire",
            ):
                await at_work.step()
            counts = at_work.source.counts()
            assert (counts.finished, counts.handed, counts.taken) == (0, 0, 0)

    run(main())


def test_groups_that_break_now_and_then_are_borne() -> None:
    async def main() -> None:
        deed = _broken(*tasks()[:3])  # six in a row at most: all tasks come before any comes again
        async with training(AHEAD, deed=deed) as at_work:
            while at_work.source.counts().broken < 9:
                await at_work.step()

    run(main())


class _Tired(TaskPlan):
    def group(self, index: int, *, version: int = 0) -> tuple[RolloutJob, ...]:
        if index == 3:
            raise LookupError("there is nothing left to play")
        return super().group(index, version=version)


def test_a_plan_that_crashes_is_told_to_whoever_takes() -> None:
    async def main() -> None:
        async with training(SYNCHRONOUS, plan=_Tired(tasks(), size=2, seed=0)) as at_work:
            await at_work.step()
            with pytest.raises(LookupError, match="nothing left to play"):
                await at_work.step()

    run(main())


def test_a_pool_that_is_closed_under_its_source_is_told_to_whoever_takes() -> None:
    async def main() -> None:
        async with training(SYNCHRONOUS, deed=_hanging(_task(0))) as at_work:
            taking = asyncio.create_task(at_work.source.take(None))
            await asyncio.sleep(1)
            await at_work.field.pool.close()
            with pytest.raises(InfrastructureError, match="train/0/0 was stopped by somebody else"):
                await taking

    run(main())


@settings(deadline=None, max_examples=20)
@given(st.floats(0, 10), st.integers(0, 99))
def test_closing_at_any_moment_leaves_nothing_behind(after: float, seed: int) -> None:
    async def main() -> None:
        async with training(AHEAD, deed=stormy(seed, faults=10)) as at_work:
            taking = asyncio.create_task(at_work.source.take(None))
            await asyncio.sleep(after)
            await at_work.source.close()
            await at_work.source.close()
            await asyncio.wait([taking])
            assert taking.exception() is None or "was closed" in str(taking.exception())
            with pytest.raises(InfrastructureError, match="the source of groups was closed"):
                await at_work.source.take(None)
            assert at_work.field.pool.under_way == 0

    run(main())


def test_weights_do_not_go_back() -> None:
    async def main() -> None:
        async with training(AHEAD) as at_work:
            at_work.source.advance(3)
            with pytest.raises(ValueError, match=r"advance\(2\): the weights are at version 3 and do not go back"):
                at_work.source.advance(2)

    run(main())


def test_two_runs_are_the_same_event_by_event() -> None:
    async def main() -> tuple[list[Call], list[str], list[RolloutGroup], list[str]]:
        def engine() -> Narrow:
            return Narrow(babbling(), slots=3, seconds=0.1)

        async with training(AHEAD, rule=RULES["partial"], engine=engine, deed=stormy(8, faults=10)) as at_work:
            for _ in range(5):
                await at_work.step()
            assert isinstance(at_work.field.engine, Narrow)
            requests = [request.trajectory for request in at_work.field.engine.requests]
            return at_work.field.worlds.calls, requests, at_work.taken, at_work.field.said

    assert run(main()) == run(main())


def test_a_gauge_says_how_busy_the_engine_is_and_how_long_tools_are_waited_for() -> None:
    async def main() -> None:
        async def deed(call: Call) -> None:
            await asyncio.sleep(2 if call.what == "step" else 0)

        def engine() -> Narrow:
            return Narrow(babbling(), slots=1, seconds=0.5)

        async with training(SYNCHRONOUS, engine=engine, deed=deed, config=replace(CONFIG, agents=1)) as at_work:
            await at_work.source.take(None)
            gauge, seconds = at_work.source.gauge(), asyncio.get_running_loop().time()
            tools = sum(call.what == "step" for call in at_work.field.worlds.calls) * 2 / seconds
            assert gauge.seconds == seconds
            # One agent: whatever time is not a tool's is the engine's.
            assert gauge.tool_wait == pytest.approx(tools)
            assert gauge.engine_busy == pytest.approx(1 - tools)
            assert (gauge.under_way, gauge.pending, gauge.buffered, dict(gauge.staleness)) == (0, 0, 0, {0: 2})
            idle = at_work.source.gauge()
            assert (idle.seconds, idle.engine_busy, idle.tool_wait) == (0, 0, 0)

    run(main())
