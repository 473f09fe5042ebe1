"""Runs that are killed and gone on with: every trajectory is counted once, and is what it would have been."""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from palaestra.errors import CheckpointError, InfrastructureError, WaitError
from palaestra.trainers.rollouts.groups import GroupRule, RolloutGroup, TaskPlan
from palaestra.trainers.rollouts.staleness import Staleness
from palaestra.trainers.rollouts.state import SourceCounts, SourcePosition, SourceState, dump_state, load_state
from pooled.clock import run
from pooled.field import CONFIG, PLAN, ByVersion, Training, training
from pooled.narrow import Narrow
from pooled.unruly import Call, Deed, meek, stormy
from rollouts.engine import ScriptedEngine
from rollouts.library import babbling, tasks

LIMITS = st.builds(Staleness, per_step=st.integers(1, 3), staleness=st.integers(0, 2), window=st.integers(0, 3))
RULES = [GroupRule(), GroupRule(kind="partial"), GroupRule(kind="top_up")]
STEPS = 4


def _slow() -> Narrow:
    return Narrow(babbling(), slots=4, seconds=0.2)


async def _until(
    limits: Staleness, at: float, state: bytes | None, deed: Deed, rule: GroupRule
) -> tuple[bytes, list[RolloutGroup]]:
    """Train for `at` seconds, and be killed just after a save; what was saved, and what was taken before."""
    async with training(limits, engine=_slow, state=state, deed=deed, rule=rule) as at_work:
        training_task = asyncio.create_task(_trained(at_work, 100))
        await asyncio.sleep(at)
        saved = dump_state(at_work.source.state())
        training_task.cancel()
        await asyncio.wait([training_task])
        return saved, at_work.taken


def _chosen_by_version(
    limits: Staleness, *, state: bytes | None = None, deed: Deed, rule: GroupRule
) -> AbstractAsyncContextManager[Training]:
    plan = TaskPlan(tasks(), size=3, seed=5, choice=ByVersion())
    return training(limits, plan=plan, engine=_slow, state=state, deed=deed, rule=rule)


async def _trained(at_work: Training, steps: int) -> None:
    for _ in range(steps):
        await at_work.step()


@settings(deadline=None, max_examples=20)
@given(
    LIMITS,
    st.lists(st.floats(0, 8), min_size=1, max_size=3),
    st.integers(0, 10**6),
    st.sampled_from(RULES),
)
def test_however_often_it_is_killed_every_trajectory_is_counted_once(
    limits: Staleness, kills: list[float], seed: int, rule: GroupRule
) -> None:
    async def main() -> None:
        state, taken = None, list[RolloutGroup]()
        for number, at in enumerate(kills):
            state, before = await _until(limits, at, state, stormy(seed + number, faults=10), rule)
            taken += before
        async with training(limits, engine=_slow, state=state, deed=stormy(seed, faults=10), rule=rule) as at_work:
            await _trained(at_work, STEPS)
            taken += at_work.taken
            counts, pending = at_work.source.counts(), at_work.source.state()
        indices = [group.index for group in taken]
        handed = [episode.id for group in taken for episode in group.episodes]
        assert len(set(indices)) == len(indices) == counts.taken
        assert len(set(handed)) == len(handed) == counts.handed
        left = {group.index for group in pending.groups}
        assert not left & set(indices)
        assert counts.groups == pending.begun == len(indices) + len(left) + counts.broken
        for version, group in enumerate(taken):
            assert version // limits.per_step - group.version <= limits.bound

    run(main())


@settings(deadline=None, max_examples=15)
@given(LIMITS, st.floats(0, 8), st.floats(0, 8), st.integers(0, 10**6), st.sampled_from(RULES))
@example(Staleness(per_step=1), 0.0, 30.0, 1, RULES[0])
@example(Staleness(per_step=1, staleness=1), 4.0, 30.0, 2, RULES[1])
@example(Staleness(per_step=2, staleness=1, window=2), 4.0, 40.0, 3, RULES[2])
def test_batches_on_record_behind_the_save_are_taken_again_and_nothing_twice(
    limits: Staleness, save: float, kill: float, seed: int, rule: GroupRule
) -> None:
    async def first() -> tuple[bytes, int, list[RolloutGroup], list[SourcePosition]]:
        async with _chosen_by_version(limits, deed=stormy(seed, faults=10), rule=rule) as at_work:
            working = asyncio.create_task(_trained(at_work, 100))
            await asyncio.sleep(save)
            state, saved = dump_state(at_work.source.state()), len(at_work.taken)
            await asyncio.sleep(kill)
            working.cancel()
            await asyncio.wait([working])
            return state, saved, at_work.taken, at_work.positions

    async def second(
        state: bytes, recorded: list[RolloutGroup], positions: list[SourcePosition]
    ) -> tuple[list[RolloutGroup], SourceCounts]:
        deed = stormy(seed + 1, faults=10)
        async with _chosen_by_version(limits, state=state, deed=deed, rule=rule) as at_work:
            for number, position in enumerate(positions):
                at = number * limits.per_step
                at_work.source.retake(recorded[at : at + limits.per_step], position)
                at_work.check()
                assert at_work.source.position() == position
                at_work.source.advance(at_work.source.version + 1)
            await at_work.field.engine.update_weights({}, at_work.source.version)
            await _trained(at_work, STEPS)
            return at_work.taken, at_work.source.counts()

    state, saved, taken, positions = run(first())
    later, counts = run(second(state, taken[saved:], positions[saved // limits.per_step :]))
    indices = [group.index for group in [*taken, *later]]
    handed = [episode.id for group in [*taken, *later] for episode in group.episodes]
    assert len(set(indices)) == len(indices) == counts.taken
    assert len(set(handed)) == len(handed) == counts.handed
    assert [group.task for group in later] == [ByVersion().task(group.index, group.version) for group in later]
    if positions[saved // limits.per_step :]:  # what was pending then keeps its version, and so its task
        pending = positions[-1].pending
        assert all(group.version == pending[group.index] for group in later if group.index in pending)


def test_groups_that_began_while_a_step_was_trained_keep_their_tasks() -> None:
    """They are in no save, and the batch of the next step says when they began."""
    limits, plan = Staleness(per_step=1, staleness=4), TaskPlan(tasks(), size=3, seed=5, choice=ByVersion())
    narrow = replace(CONFIG, agents=3)

    async def main() -> None:
        async with training(limits, plan=plan, engine=_slow, config=narrow) as at_work:
            state = dump_state(at_work.source.state())
            await at_work.source.take(None)
            at_work.source.advance(1)
            await at_work.source.take(None)
            await asyncio.sleep(3)  # training
            at_work.source.advance(2)
            groups, position = await at_work.source.take(None), at_work.source.position()
        assert 1 in position.pending.values(), "none began during training"
        async with training(limits, plan=plan, engine=_slow, config=narrow, state=state) as at_work:
            at_work.source.advance(2)
            at_work.source.retake(groups, position)
            at_work.source.advance(3)
            (group,) = await at_work.source.take(None)
            assert (group.version, group.task) == (1, ByVersion().task(group.index, 1))

    run(main())


@settings(deadline=None, max_examples=10)
@given(LIMITS, st.lists(st.floats(0, 12), min_size=1, max_size=2))
def test_a_run_that_was_killed_trains_on_what_it_would_have(limits: Staleness, kills: list[float]) -> None:
    """The writer knows no weights, so an episode is the same whenever it is played; and so must every group be."""

    async def whole() -> Mapping[int, list[str]]:
        async with training(limits, engine=_slow) as at_work:
            await _trained(at_work, STEPS)
            return _texts(at_work.taken)

    async def killed() -> Mapping[int, list[str]]:
        state, taken = None, list[RolloutGroup]()
        for at in kills:
            state, before = await _until(limits, at, state, meek, GroupRule())
            taken += before
        async with training(limits, engine=_slow, state=state) as at_work:
            await _trained(at_work, STEPS)
            return _texts([*taken, *at_work.taken])

    one, other = run(whole()), run(killed())
    assert {index: other[index] for index in one if index in other} == {
        index: one[index] for index in one if index in other
    }
    assert set(range(STEPS * limits.per_step - limits.window)) <= set(other)


def _texts(groups: list[RolloutGroup]) -> Mapping[int, list[str]]:
    return {group.index: [episode.digest() for episode in group.episodes] for group in groups}


def _saved(limits: Staleness, at: float) -> SourceState:
    return load_state(run(_until(limits, at, None, stormy(1, faults=5), GroupRule()))[0])


AHEAD = Staleness(per_step=2, staleness=2, window=2)


@pytest.mark.parametrize("at", [0.0, 0.3, 2.0, 5.0])
def test_a_state_is_the_same_once_written_and_read(at: float) -> None:
    state = _saved(AHEAD, at)
    assert load_state(dump_state(state)) == state


@pytest.mark.parametrize("at", [0.0, 2.0, 5.0])
def test_what_is_restored_and_not_begun_is_saved_again_as_it_was(at: float) -> None:
    async def main() -> None:
        async with training(AHEAD, state=dump_state(state)) as at_work:
            assert at_work.source.state() == state

    state = _saved(AHEAD, at)
    run(main())


def test_half_a_trajectory_is_not_drawn_again() -> None:
    state = _saved(AHEAD, 2.0)
    begun = {
        member.trajectory: member.begun
        for group in state.groups
        for member in group.members
        if member.begun is not None and member.begun.tokens.spans
    }
    assert begun, "nobody was half-way"

    async def main() -> None:
        async with training(AHEAD, state=dump_state(state)) as at_work:
            engine = at_work.field.engine
            assert isinstance(engine, ScriptedEngine)
            await _trained(at_work, 1)
            for request in engine.requests:
                if (half := begun.get(request.trajectory)) is not None:
                    assert len(request.context) >= len(half.tokens.ids)

    run(main())


def test_a_refresh_before_anything_has_begun_drops_what_was_restored() -> None:
    state = _saved(AHEAD, 5.0)

    async def main() -> None:
        async with training(AHEAD, state=dump_state(state)) as at_work:
            dropped = at_work.source.drop_older(state.version + 1)
            assert dropped == len(state.groups) > 0
            await _trained(at_work, 2)
            assert [group.index for group in at_work.taken] == [state.begun + number for number in range(4)]

    run(main())


def test_places_of_groups_that_were_dropped_before_the_save_go_to_others_behind_it() -> None:
    limits, broken = Staleness(per_step=1), PLAN.group(1)[0].task

    async def deed(call: Call) -> None:
        if call.what == "step" and call.task == broken:
            raise InfrastructureError("always")

    async def main() -> None:
        async with training(limits, deed=deed) as at_work:
            await _trained(at_work, 2)
            await asyncio.sleep(1)
            assert at_work.source.drop_older(3) == 1
            state = dump_state(at_work.source.state())
            assert [group.index for group in at_work.taken] == [0, 2]
        async with training(limits, state=state) as at_work:
            assert [group.index for group in await at_work.step()] == [4]
            counts = at_work.source.counts()
            assert (counts.broken, counts.stale, counts.taken) == (1, 1, 3)

    run(main())


def test_stragglers_are_still_stragglers_after_a_restore() -> None:
    rule = GroupRule(kind="partial", enough=2, straggler_seconds=30.0)

    def late(number: int) -> Deed:
        resets = [0]

        async def deed(call: Call) -> None:
            if call.what == "reset":
                resets[0] += 1
                await asyncio.sleep(10**9 if resets[0] == number else 0)

        return deed

    async def main() -> None:
        async with training(Staleness(per_step=1), rule=rule, deed=late(2)) as at_work:
            with pytest.raises(WaitError):
                await at_work.source.take(20.0)
            state = dump_state(at_work.source.state())
        begun = asyncio.get_running_loop().time()
        async with training(Staleness(per_step=1), rule=rule, deed=late(1), state=state) as at_work:
            (group,) = await at_work.step()
            assert (len(group.episodes), group.straggled) == (2, 1)
            assert asyncio.get_running_loop().time() - begun == 30

    run(main())


@pytest.mark.parametrize(
    ("limits", "plan", "said"),
    [
        (Staleness(per_step=3), PLAN, "per_step = 3, and the rollouts were saved with 2"),
        (AHEAD, TaskPlan(tasks(), size=3, seed=5, name="other"), r"plays other/\d+/0, and train/\d+/0 was saved"),
        (AHEAD, TaskPlan(tasks(), size=9, seed=5), "plays 9 trajectories, and 3 were planned"),
        (AHEAD, TaskPlan(tasks(), size=2, seed=5), "plays 2 trajectories, and 3 were planned"),
    ],
)
def test_a_state_of_another_run_is_refused(limits: Staleness, plan: TaskPlan, said: str) -> None:
    state = dump_state(_saved(AHEAD, 2.0))

    async def main() -> None:
        with pytest.raises(CheckpointError, match=said):
            async with training(limits, state=state, plan=plan):
                pass

    run(main())


@pytest.mark.parametrize("data", [b"", b"{}", b"[1", b'{"version": "one"}'])
def test_what_is_no_state_is_refused(data: bytes) -> None:
    with pytest.raises(CheckpointError, match="the state of the rollouts cannot be read"):
        load_state(data)
