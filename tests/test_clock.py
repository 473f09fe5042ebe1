from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaestra.clock import Clock

START = datetime(2031, 2, 28, 23, 59, 30)


def test_a_clock_stands_still_until_it_is_moved() -> None:
    clock = Clock(START)
    assert (clock.now, clock.now, clock.elapsed) == (START, START, 0)


@given(steps=st.lists(st.integers(0, 10**6), max_size=5))
def test_time_passes_by_what_is_asked(steps: list[int]) -> None:
    clock = Clock(START)
    for seconds in steps:
        clock.advance(seconds)
    assert clock.elapsed == sum(steps)
    assert clock.now == START + timedelta(seconds=sum(steps))


def test_today_changes_at_midnight() -> None:
    clock = Clock(START)
    assert clock.today == date(2031, 2, 28)
    clock.advance(30)
    assert clock.today == date(2031, 3, 1)


def test_time_does_not_run_back_but_a_snapshot_may_set_it() -> None:
    clock = Clock(START, 60)
    with pytest.raises(ValueError, match=r"advance\(-1\): time only moves forward"):
        clock.advance(-1)
    clock.set_elapsed(5)
    assert clock.now == START + timedelta(seconds=5)


def test_days_that_are_waited_are_no_work() -> None:
    clock = Clock(START)
    clock.wait(3)
    assert (clock.elapsed, clock.days_waited) == (0, 3)
    assert clock.now == START + timedelta(days=3)
    with pytest.raises(ValueError, match=r"wait\(-1\): time only moves forward"):
        clock.wait(-1)
    clock.set_elapsed(5, waited=1)
    assert clock.now == START + timedelta(days=1, seconds=5)
