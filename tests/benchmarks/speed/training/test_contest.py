"""Contests: everybody does every round, in an order that turns, and the first round does not count."""

import asyncio
from types import SimpleNamespace

import pytest

from palaestra.benchmarks.speed.training import contest
from palaestra.benchmarks.speed.training.contest import TimedContestant, compete
from palaestra.errors import EngineError


class Noted:
    """Does nothing, and notes when it was asked to."""

    def __init__(self, name: str, seen: list[tuple[str, int]], *, fails_at: int | None = None) -> None:
        self._name = name
        self._seen = seen
        self._fails_at = fails_at

    async def __call__(self, round_: int) -> float:
        self._seen.append((self._name, round_))
        if round_ == self._fails_at:
            raise EngineError("out of breath")
        return 10.0 * round_


def test_everybody_does_every_round_in_an_order_that_turns_and_the_first_does_not_count() -> None:
    seen: list[tuple[str, int]] = []
    told: list[str] = []
    field = {name: Noted(name, seen) for name in "abc"}
    outcome = asyncio.run(compete(field, 2, progress=told.append))
    assert "".join(name for name, _ in seen) == "abc" + "bca" + "cab"
    assert [round_ for _, round_ in seen] == [0] * 3 + [1] * 3 + [2] * 3
    assert outcome.rounds == {name: [10.0, 20.0] for name in "abc"}
    assert outcome.failed == ()
    assert sorted(told) == ["a", "b", "c"]


def test_an_engine_that_fails_takes_no_further_part_and_says_why() -> None:
    seen: list[tuple[str, int]] = []
    field = {"a": Noted("a", seen), "b": Noted("b", seen, fails_at=1)}
    outcome = asyncio.run(compete(field, 2))
    assert outcome.rounds == {"a": [10.0, 20.0]}
    assert [(one.section, one.why) for one in outcome.failed] == [("b", "not measured: out of breath")]
    assert seen.count(("b", 2)) == 0


def test_processor_time_is_that_of_all_processes_of_a_contestant(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 units in two seconds, for one second of this process and three of another: 5 per processor second."""
    wall, here, there = (iter(times) for times in ([0, 1, 10, 12, 20, 21], [0, 1, 2, 2, 3], [0, 1, 4, 4, 5]))
    monkeypatch.setattr(contest, "time", SimpleNamespace(perf_counter=wall.__next__, process_time=here.__next__))
    timed = TimedContestant(Noted("a", []), elsewhere=there.__next__)
    assert asyncio.run(compete({"a": timed}, 2)).rounds == {"a": [10.0, 20.0]}
    assert timed.per_processor_second == [10.0 * 2 / (1 + 3), 20.0 * 1 / (1 + 1)]
