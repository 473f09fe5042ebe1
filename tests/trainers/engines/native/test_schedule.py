"""Runs that are recorded and gone through again."""

import asyncio
import json
from collections import Counter
from dataclasses import replace

import pytest

from decoders import tiny
from engines.plain import telling
from palaestra.errors import EngineError, RecordError, ReplayError, WaitError
from palaestra.seeding import Stream
from palaestra.trainers.engines.engine import Completion, Sampling, TurnRequest
from palaestra.trainers.engines.native import (
    EngineArrivals,
    EnginePlan,
    EngineSchedule,
    FreeSchedule,
    NativeConfig,
    NativeEngine,
    ReplaySchedule,
    ScheduleRecorder,
    TurnKey,
    WeightUpdate,
    Withdrawal,
    recorded_placements,
)
from palaestra.trainers.engines.noise import noise_key

SHAPE = tiny(vocabulary=24, hidden=16, heads=2, kv_heads=1, head_dim=8, mlp=16, context=96)
MODELS = [telling(SHAPE, seed=seed) for seed in range(2)]
CONFIG = NativeConfig(rows=3, capacity=150, prefill=24)
A, B, C = (TurnKey(trajectory=name, place=10, check=1) for name in "abc")


# As it comes


def test_turns_are_admitted_in_order_as_far_as_they_fit() -> None:
    plan = FreeSchedule().before(0, EngineArrivals(waiting=(A, B, C), room=2))
    assert plan == EnginePlan(admitted=(A, B))


def test_while_it_is_paused_only_weights_change_and_places_are_freed() -> None:
    gone = Withdrawal(turn=C, late=False)
    update = WeightUpdate(version=1, in_flight="keep")
    arrived = EngineArrivals(
        waiting=(A,), room=1, running=2, withdrawn=(gone,), released=("x",), update=update, paused=True
    )
    assert FreeSchedule().before(0, arrived) == EnginePlan(
        withdrawn=(gone,), released=("x",), update=update, draws=False
    )


def test_an_update_that_waits_holds_newcomers_until_nothing_is_under_way() -> None:
    update = WeightUpdate(version=1, in_flight="wait")
    arrived = EngineArrivals(waiting=(A,), room=1, running=1, update=update)
    assert FreeSchedule().before(0, arrived) == EnginePlan()
    gone = Withdrawal(turn=B, late=False)
    freed = replace(arrived, withdrawn=(gone,))
    assert FreeSchedule().before(0, freed) == EnginePlan(withdrawn=(gone,), update=update, admitted=(A,))
    assert FreeSchedule().before(0, replace(arrived, running=0)) == EnginePlan(update=update, admitted=(A,))


def test_what_waited_and_was_given_up_is_forgotten() -> None:
    assert FreeSchedule().before(0, EngineArrivals(abandoned=(A,))) == EnginePlan(forgotten=(A,))


# Written down


def recorded(*plans: tuple[int, EnginePlan]) -> list[bytes]:
    class Script:
        def __init__(self) -> None:
            self.plan = EnginePlan()

        def before(self, step: int, arrived: EngineArrivals) -> EnginePlan:
            del step, arrived
            return self.plan

    lines: list[bytes] = []
    script = Script()
    recording = ScheduleRecorder(script, lines.append)
    for step, script.plan in plans:
        assert recording.before(step, EngineArrivals()) is script.plan
    return lines


def test_a_line_is_a_step_that_was_given_something() -> None:
    update = WeightUpdate(version=3, in_flight="retract")
    lines = recorded(
        (0, EnginePlan(admitted=(A,))),
        (1, EnginePlan()),
        (2, EnginePlan(forgotten=(B,))),
        (3, EnginePlan(update=update)),
    )
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
    assert [json.loads(line)["step"] for line in lines] == [0, 3]
    assert json.loads(lines[0])["plan"]["admitted"] == [{"trajectory": "a", "place": 10, "check": 1}]
    assert json.loads(lines[1])["plan"]["update"] == {"version": 3, "in_flight": "retract"}


def test_several_engines_write_one_record_and_each_follows_its_own_part() -> None:
    lines: list[bytes] = []
    for replica, turns in enumerate(((A,), (B, C))):
        recorder = ScheduleRecorder(FreeSchedule(), lines.append, replica=replica)
        recorder.before(0, EngineArrivals(waiting=turns, room=len(turns)))
    assert recorded_placements(lines) == {"a": 0, "b": 1, "c": 1}
    everything = EngineArrivals(waiting=(C, B, A), room=3)
    assert ReplaySchedule(lines).before(0, everything) == EnginePlan(admitted=(A,))
    assert ReplaySchedule(lines, replica=1).before(0, everything) == EnginePlan(admitted=(B, C))


# As it was written down


def test_a_step_is_held_until_its_turns_are_there_and_takes_no_others() -> None:
    replay = ReplaySchedule(recorded((0, EnginePlan(admitted=(B, A))), (2, EnginePlan(admitted=(C,)))))
    assert replay.before(0, EngineArrivals(waiting=(A, C), room=2)) is None
    assert replay.before(0, EngineArrivals(waiting=(A, C, B), room=3)) == EnginePlan(admitted=(B, A))
    assert replay.before(1, EngineArrivals(waiting=(C,), room=1, running=2)) == EnginePlan()
    assert replay.before(2, EngineArrivals(waiting=(C,), room=1, running=2)) == EnginePlan(admitted=(C,))


def test_a_turn_that_was_given_up_here_is_drawn_all_the_same() -> None:
    replay = ReplaySchedule(recorded((0, EnginePlan(admitted=(A,)))))
    assert replay.before(0, EngineArrivals(abandoned=(A, B))) == EnginePlan(admitted=(A,), forgotten=(B,))


def test_a_step_is_held_until_its_weights_are_there() -> None:
    update = WeightUpdate(version=1, in_flight="keep")
    replay = ReplaySchedule(recorded((0, EnginePlan(admitted=(A,))), (1, EnginePlan(update=update))))
    assert replay.before(0, EngineArrivals(waiting=(A,), room=1, update=update)) == EnginePlan(admitted=(A,))
    assert replay.before(1, EngineArrivals(running=1)) is None
    assert replay.before(1, EngineArrivals(running=1, update=update)) == EnginePlan(update=update)


def test_what_was_withdrawn_and_released_is_whatever_is_asked_for_here() -> None:
    plan = EnginePlan(withdrawn=(Withdrawal(turn=A, late=True),), released=("x", "y"))
    replay = ReplaySchedule(recorded((0, plan)))
    assert replay.before(0, EngineArrivals(running=1, released=("z",))) == plan


def test_while_it_is_paused_a_step_that_drew_is_held() -> None:
    replay = ReplaySchedule(recorded((0, EnginePlan(released=("x",), draws=False)), (1, EnginePlan(admitted=(A,)))))
    assert replay.before(0, EngineArrivals(paused=True)) == EnginePlan(released=("x",), draws=False)
    assert replay.before(1, EngineArrivals(waiting=(A,), room=1, paused=True)) is None


def test_behind_the_end_everything_is_as_it_comes() -> None:
    replay = ReplaySchedule(recorded((0, EnginePlan(admitted=(A,)))))
    assert replay.before(1, EngineArrivals(waiting=(B, C), room=1)) == EnginePlan(admitted=(B,))


def test_a_turn_that_the_record_does_not_name_waits_for_its_end() -> None:
    replay = ReplaySchedule(recorded((0, EnginePlan(admitted=(A,))), (1, EnginePlan(released=("a",)))))
    unknown = TurnKey(trajectory="unknown", place=3, check=0)
    assert replay.before(0, EngineArrivals(waiting=(unknown, A), room=2)) == EnginePlan(admitted=(A,))
    assert replay.before(1, EngineArrivals(waiting=(unknown,), room=1, running=1)) == EnginePlan(released=("a",))
    assert replay.before(2, EngineArrivals(waiting=(unknown,), room=1)) == EnginePlan(admitted=(unknown,))


@pytest.mark.parametrize("turn", [replace(A, place=11), replace(A, check=2)])
def test_another_context_than_the_recorded_one_is_refused(turn: TurnKey) -> None:
    replay = ReplaySchedule(recorded((5, EnginePlan(admitted=(A,)))))
    with pytest.raises(ReplayError, match=r"step 3: the record has a turn of trajectory 'a' at place 10 .* asked for"):
        replay.before(3, EngineArrivals(waiting=(turn,), room=1, running=1))


def test_a_trajectory_that_goes_on_in_the_record_may_not_be_released() -> None:
    replay = ReplaySchedule(recorded((0, EnginePlan(admitted=(A,))), (5, EnginePlan(admitted=(replace(A, place=20),)))))
    assert replay.before(0, EngineArrivals(abandoned=(A,), released=("a",))) == EnginePlan(admitted=(A,))
    with pytest.raises(ReplayError, match=r"step 1: the record has .*'a' at place 20 .* released before it"):
        replay.before(1, EngineArrivals(running=1, released=("a",)))


@pytest.mark.parametrize(
    "update", [WeightUpdate(version=2, in_flight="keep"), WeightUpdate(version=1, in_flight="wait")]
)
def test_other_weights_than_the_recorded_ones_are_refused(update: WeightUpdate) -> None:
    replay = ReplaySchedule(recorded((5, EnginePlan(update=WeightUpdate(version=1, in_flight="keep")))))
    with pytest.raises(ReplayError, match=r"step 3: the record has .*version=1.* next, and .* was given"):
        replay.before(3, EngineArrivals(update=update, running=1))


def test_turns_that_ended_earlier_than_they_did_are_refused() -> None:
    replay = ReplaySchedule(recorded((0, EnginePlan(admitted=(A,))), (5, EnginePlan(admitted=(B,)))))
    replay.before(0, EngineArrivals(waiting=(A,), room=1))
    with pytest.raises(ReplayError, match="step 1: turns were under way here"):
        replay.before(1, EngineArrivals(waiting=(B,), room=1))


@pytest.mark.parametrize("line", [b"{", b"{}", b'{"step": 1, "plan": {"admitted": [3]}}'])
def test_a_line_that_cannot_be_read_is_named(line: bytes) -> None:
    good = recorded((0, EnginePlan(admitted=(A,))))
    with pytest.raises(RecordError, match="line 2 of the schedule: "):
        ReplaySchedule([*good, line])


# Whole runs


class Run:
    """Trajectories of three turns each in worlds of random speed, a learner, and somebody who gives up.

    Args:
        speed: Names the speeds: equal names, equal timing.
    """

    def __init__(self, schedule: EngineSchedule, *, speed: str, config: NativeConfig = CONFIG) -> None:
        self.engine = NativeEngine(MODELS[0], config, schedule=schedule)
        self.speed = Stream.root("speed", speed)
        self.done: dict[tuple[str, int], Completion | str] = {}
        self.finished = 0

    async def rest(self, most: int) -> None:
        for _ in range(self.speed.below(most)):
            await asyncio.sleep(0)

    async def trajectory(self, number: int, *, lengthened: bool = False) -> None:
        name = f"t{number}"
        world = Stream.root("world", number)
        context = tuple(range(14)) if number % 2 else tuple(world.below(24) for _ in range(9))
        for turn in range(3):
            await self.rest(40)
            cancelled = number % 5 == 4 and turn == 1
            sampling = Sampling(limit=48, stop=()) if cancelled else Sampling(limit=world.between(2, 9), stop=(3,))
            request = TurnRequest(trajectory=name, context=context, sampling=sampling, noise=noise_key(number))
            asked = asyncio.ensure_future(self.engine.generate(request))
            if cancelled:
                await self.rest(20)
                asked.cancel()
            try:
                self.done[name, turn] = drawn = await asked
            except asyncio.CancelledError:
                self.engine.release(name)
                return
            self.finished += 1
            context = (*context, *drawn.ids, *(world.below(24) for _ in range(world.below(6))))
            if lengthened:
                context = (*context, 1)
        self.engine.release(name)

    async def learner(self) -> None:
        for version, at in enumerate((6, 13, 20), 1):
            while self.finished < at:
                await asyncio.sleep(0)
            in_flight = (("keep", "retract", "wait"))[version - 1]
            await self.engine.update_weights(MODELS[version % 2].state_dict(), version, in_flight=in_flight)  # type: ignore[arg-type]

    async def play(self) -> None:
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for number in range(12):
                group.create_task(self.trajectory(number))
            group.create_task(self.learner())
        await self.engine.close()


def test_a_run_gone_through_again_at_another_speed_is_the_same_to_the_bit() -> None:
    lines: list[bytes] = []
    first = Run(ScheduleRecorder(FreeSchedule(), lines.append), speed="first")
    asyncio.run(first.play())
    assert len(first.done) > 25
    assert {version for turn in first.done.values() if isinstance(turn, Completion) for version in turn.versions} == {
        0, 1, 2, 3
    }  # fmt: skip
    for speed in ("second", "third"):
        again: list[bytes] = []
        second = Run(ScheduleRecorder(ReplaySchedule(lines), again.append), speed=speed)
        asyncio.run(second.play())
        assert again[: len(lines)] == lines
        common = first.done.keys() & second.done.keys()
        assert len(common) > 25
        assert {key: first.done[key] for key in common} == {key: second.done[key] for key in common}
        other: list[bytes] = []
        asyncio.run(Run(ScheduleRecorder(FreeSchedule(), other.append), speed=speed).play())
        assert other != lines  # else it would have been the same without a record


def test_a_time_out_comes_again_where_it_came() -> None:
    async def play(schedule: EngineSchedule, *, timeout: float | None) -> list[Completion | WaitError]:
        engine = NativeEngine(MODELS[0], CONFIG, schedule=schedule)
        sampling = Sampling(limit=60, stop=())
        late = TurnRequest(trajectory="late", context=(1, 2, 3), sampling=sampling, timeout=timeout)
        other = TurnRequest(trajectory="other", context=(4, 5), sampling=sampling)
        asked = [asyncio.ensure_future(engine.generate(one)) for one in (late, other)]
        if timeout is not None:
            while engine.stats().drawn < 20:
                await asyncio.sleep(0)
            await engine.pause()
            await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            await engine.resume()
        async with asyncio.timeout(20):
            found = await asyncio.gather(*asked, return_exceptions=True)
        await engine.close()
        assert all(isinstance(one, Completion | WaitError) for one in found)
        return [one for one in found if isinstance(one, Completion | WaitError)]

    lines: list[bytes] = []
    first = asyncio.run(play(ScheduleRecorder(FreeSchedule(), lines.append), timeout=0.2))
    second = asyncio.run(play(ReplaySchedule(lines), timeout=None))
    assert isinstance(first[0], WaitError)
    assert isinstance(second[0], WaitError)
    assert first[1] == second[1]


def test_a_run_that_goes_another_way_is_told_to_everybody_who_waits() -> None:
    lines: list[bytes] = []
    asyncio.run(Run(ScheduleRecorder(FreeSchedule(), lines.append), speed="first").play())

    async def astray() -> list[BaseException | None]:
        run = Run(ReplaySchedule(lines), speed="second")
        learner = asyncio.ensure_future(run.learner())
        trajectories = (run.trajectory(number, lengthened=number == 3) for number in range(12))
        async with asyncio.timeout(60):
            found = await asyncio.gather(*trajectories, return_exceptions=True)
        learner.cancel()
        with pytest.raises(ReplayError, match="the run has gone another way"):
            await run.engine.update_weights(MODELS[0].state_dict(), 9)
        await run.engine.close()
        return found

    # Whoever was between two turns asks for the next one and is told then.
    kinds = Counter(type(one) for one in asyncio.run(astray()))
    assert kinds[ReplayError] > 5
    assert kinds.keys() <= {ReplayError, type(None)}


def test_a_replay_with_less_room_is_refused() -> None:
    lines: list[bytes] = []
    asyncio.run(Run(ScheduleRecorder(FreeSchedule(), lines.append), speed="first").play())
    run = Run(ReplaySchedule(lines), speed="first", config=replace(CONFIG, rows=1))
    with pytest.raises(ExceptionGroup) as found:
        asyncio.run(run.play())
    assert found.group_contains(ReplayError, match="no room for a turn of trajectory")


def test_a_sink_that_fails_fails_the_engine() -> None:
    def full(line: bytes) -> None:
        raise OSError(28, f"no space for {len(line)} bytes")

    async def play() -> None:
        engine = NativeEngine(MODELS[0], CONFIG, schedule=ScheduleRecorder(FreeSchedule(), full))
        sampling = Sampling(limit=3, stop=())
        for _ in range(2):
            with pytest.raises(EngineError, match=r"failed in step 0 .*no space") as error:
                await engine.generate(TurnRequest(trajectory="t", context=(1,), sampling=sampling))
            assert isinstance(error.value.__cause__, OSError)
        await engine.close()

    asyncio.run(play())
