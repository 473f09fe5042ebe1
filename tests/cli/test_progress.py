"""Progress in a log: a line every few seconds, with what is done and about what is left."""

import pytest

from palaestra.cli.progress import SECONDS, LogBar, bar


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_line_every_few_seconds() -> None:
    clock, lines = Clock(), list[str]()
    shown = LogBar("proving", 40, lines.append, clock)
    for number in range(40):
        clock.now += 1.0
        shown.step(f"task {number}")
    assert len(lines) == 40 // SECONDS
    assert lines[0] == "proving: 5/40 in 5 s, about 35 s left (task 4)"
    assert lines[-1] == "proving: 40/40 in 40 s, about 0 s left (task 39)"


def test_several_steps_at_once_are_one_line_that_counts_them_all() -> None:
    clock, lines = Clock(), list[str]()
    shown = LogBar("training", 100, lines.append, clock)
    clock.now += 39.0
    shown.step("round 1", 7)
    assert lines == ["training: 7/100 in 39 s, about 518 s left (round 1)"]


def test_without_a_total_it_counts() -> None:
    clock, lines = Clock(), list[str]()
    shown = LogBar("playing", None, lines.append, clock)
    clock.now += 6
    shown.step("a")
    assert lines == ["playing: 1 in 6 s (a)"]


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("listing", 3) as shown:
        shown.step("a")
    assert capsys.readouterr().err == ""
