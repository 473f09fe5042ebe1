"""The ceiling against simulated engines, and the door in front of it."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.trainers.engines.engine import EngineStats
from palaestra.trainers.rollouts.pressure import AdmissionQueue, Pressure
from pooled.clock import run


def _stats(*, running: int = 1, waiting: int = 0, resident: int = 0, capacity: int = 0) -> EngineStats:
    return EngineStats(
        running=running,
        waiting=waiting,
        resident=resident,
        capacity=capacity,
        drawn=0,
        prefilled=0,
        reused=0,
        busy_seconds=0.0,
        version=0,
    )


EASY, HARD = _stats(running=8), _stats(running=8, waiting=3)
ANY = st.builds(
    _stats,
    running=st.integers(0, 9),
    waiting=st.integers(0, 9),
    resident=st.integers(0, 2000),
    capacity=st.sampled_from([0, 1000]),
)


def _round(pressure: Pressure, stats: EngineStats, under_way: int | None = None) -> int:
    count = pressure.ceiling if under_way is None else under_way
    for _ in range(count):
        pressure.turn(stats, count)
    return pressure.ceiling


def test_the_ceiling_doubles_until_the_first_overload_and_then_rises_by_steps() -> None:
    pressure = Pressure(256)
    assert pressure.ceiling == 16
    assert [_round(pressure, EASY) for _ in range(3)] == [32, 64, 128]
    assert _round(pressure, HARD) == 96
    assert [_round(pressure, EASY) for _ in range(3)] == [104, 112, 120]


def test_the_ceiling_neither_exceeds_the_agents_nor_falls_below_one() -> None:
    pressure = Pressure(20)
    assert [_round(pressure, EASY) for _ in range(3)] == [20, 20, 20]
    assert [_round(pressure, HARD) for _ in range(12)][-1] == 1
    assert Pressure(3).ceiling == 3


def test_a_ceiling_that_was_not_reached_does_not_rise() -> None:
    assert _round(Pressure(256), EASY, 10) == 16


def test_one_bad_moment_in_a_round_costs_nothing() -> None:
    pressure = Pressure(256)
    for stats in [*[HARD] * 8, *[EASY] * 8]:
        pressure.turn(stats, 16)
    assert pressure.ceiling == 32


@given(st.lists(st.tuples(ANY, st.integers(1, 40)), max_size=200))
def test_equal_turns_give_equal_ceilings_within_their_range(turns: list[tuple[EngineStats, int]]) -> None:
    one, other = Pressure(40), Pressure(40)
    for stats, under_way in turns:
        for pressure in (one, other):
            pressure.turn(stats, under_way)
        assert 1 <= one.ceiling == other.ceiling <= 40


@given(ANY)
def test_the_first_trajectory_may_always_begin(stats: EngineStats) -> None:
    assert Pressure(1).room(stats, 0)


@pytest.mark.parametrize(
    ("stats", "room"),
    [
        (_stats(resident=800, capacity=1000), True),  # 800 and a mean of 100 fit into 900
        (_stats(resident=801, capacity=1000), False),
        (_stats(running=8, waiting=2), True),
        (_stats(running=8, waiting=3), False),
        (_stats(resident=10**9), True),  # an engine that does not say what it holds
    ],
)
def test_there_is_room_for_one_more_of_mean_length_and_for_a_short_line(stats: EngineStats, room: bool) -> None:
    assert Pressure(64).room(stats, 8) is room


@pytest.mark.parametrize("slots", [10, 48, 200])
def test_the_ceiling_settles_where_the_engine_is_full_and_the_line_is_short(slots: int) -> None:
    pressure, seen = Pressure(512), list[int]()
    for _ in range(60):
        under_way = pressure.ceiling
        _round(pressure, _stats(running=min(slots, under_way), waiting=max(0, under_way - slots)))
        seen.append(under_way)
    settled = seen[20:]
    # Full at `slots`; overloaded beyond 1.25 of it, passed by a step of 16 at most, and then cut to three quarters.
    assert min(settled) >= 0.75 * slots
    assert max(settled) <= 1.25 * slots + 16


class _Visits:
    """Tasks that pass a door, in the order in which they got in."""

    def __init__(self, door: AdmissionQueue) -> None:
        self.door = door
        self.inside: list[str] = []
        self.leave = asyncio.Event()

    async def visit(self, name: str) -> None:
        place = self.door.queue()
        try:
            await place
            self.inside.append(name)
            await self.leave.wait()
        finally:
            self.door.leave(place)


async def _idle() -> None:
    await asyncio.sleep(1)


def test_places_are_given_first_come_first_served() -> None:
    async def main() -> None:
        visits = _Visits(AdmissionQueue(2, lambda: EASY))
        tasks = [asyncio.create_task(visits.visit(name)) for name in "abcd"]
        await _idle()
        assert (visits.inside, visits.door.inside) == (["a", "b"], 2)
        visits.leave.set()
        await asyncio.gather(*tasks)
        assert (visits.inside, visits.door.inside) == ([*"abcd"], 0)

    run(main())


@given(st.lists(st.integers(0, 5), max_size=6), st.booleans())
def test_whoever_leaves_the_line_in_whatever_moment_takes_no_place_with_them(gone: list[int], late: bool) -> None:
    async def main() -> None:
        visits = _Visits(AdmissionQueue(2, lambda: EASY))
        tasks = [asyncio.create_task(visits.visit(str(n))) for n in range(6)]
        await _idle()
        if late:  # places are given in the very moment in which some of the line are cancelled
            visits.leave.set()
            await asyncio.sleep(0)
        for number in gone:
            tasks[number].cancel()
        await _idle()
        visits.leave.set()
        await asyncio.wait(tasks)
        assert visits.door.inside == 0
        stayed = [str(n) for n in range(2, 6) if n not in gone]
        assert [name for name in visits.inside if name in stayed] == stayed

    run(main())


def test_an_onlooker_sees_room_only_once_the_line_is_gone() -> None:
    async def main() -> None:
        visits = _Visits(AdmissionQueue(1, lambda: EASY))
        await visits.door.room()
        tasks = [asyncio.create_task(visits.visit(name)) for name in "ab"]
        await _idle()
        onlooker = asyncio.create_task(visits.door.room())
        gone = asyncio.create_task(visits.door.room())
        await _idle()
        gone.cancel()
        assert not onlooker.done()
        visits.leave.set()
        await onlooker
        assert visits.inside == ["a", "b"]
        await asyncio.wait([*tasks, gone])

    run(main())


def test_an_overloaded_engine_keeps_the_door_shut_until_a_turn_finds_it_better() -> None:
    async def main() -> None:
        now = [HARD]
        visits = _Visits(AdmissionQueue(4, lambda: now[0]))
        tasks = [asyncio.create_task(visits.visit(name)) for name in "ab"]
        await _idle()
        assert visits.inside == ["a"]
        now[0] = EASY
        visits.door.turn()
        await _idle()
        assert visits.inside == ["a", "b"]
        visits.leave.set()
        await asyncio.wait(tasks)

    run(main())


@given(st.lists(st.tuples(ANY, st.integers(1, 40)), max_size=60), st.integers(0, 60))
def test_a_ceiling_that_was_saved_moves_on_as_it_would_have(turns: list[tuple[EngineStats, int]], at: int) -> None:
    one = Pressure(40)
    for stats, under_way in turns[:at]:
        one.turn(stats, under_way)
    other = Pressure(40)
    other.restore(one.state())
    for stats, under_way in turns[at:]:
        for pressure in (one, other):
            pressure.turn(stats, under_way)
    assert other.state() == one.state()


def test_a_lifted_ceiling_stays_whatever_the_engine_says() -> None:
    pressure, saved = Pressure(64), Pressure(20).state()
    pressure.lift()
    for _ in range(3):
        assert _round(pressure, HARD) == 64
        pressure.restore(saved)
    assert [pressure.room(HARD, under_way) for under_way in (0, 63, 64)] == [True, True, False]


def test_a_saved_ceiling_does_not_exceed_the_agents_of_today() -> None:
    many = Pressure(64)
    _round(many, EASY)
    few = Pressure(5)
    few.restore(many.state())
    assert (many.ceiling, few.ceiling) == (32, 5)
