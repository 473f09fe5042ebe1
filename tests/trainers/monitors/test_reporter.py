"""What a log says of a stage: what it is doing, how fast, whether it learns, what it has saved."""

import pytest

from palaestra.trainers.monitors import StageReporter, step_figures
from palaestra.trainers.monitors.reporter import say_seconds


class Clock:
    """A clock that stands still until it is put on."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def reporter(*, done: float = 0.0) -> tuple[StageReporter, list[str], Clock]:
    lines: list[str] = []
    clock = Clock()
    return StageReporter("grpo", lines.append, done=done, clock=clock), lines, clock


def test_the_line_of_a_step_says_how_far_how_long_how_well_and_what_is_saved() -> None:
    report, lines, clock = reporter()
    clock.now = 30.0
    report.step(4, {"reward/mean": 12.345, "solved": 0.25, "speed/tokens": 1234.5}, done=0.25, saved=3)
    assert lines == [
        "grpo step 4: 25% in 30 s, about 1 min 30 s left  reward 12.35  solved 25%  tokens/s 1,234  saved at 3"
    ]


def test_time_left_counts_from_where_the_stage_went_on() -> None:
    report, lines, clock = reporter(done=0.5)
    clock.now = 10.0
    report.step(6, {}, done=0.6, saved=6)
    assert lines == ["grpo step 6: 60% in 10 s, about 40 s left  saved at 6"]


def test_quick_steps_share_a_line_and_the_last_one_has_its_own() -> None:
    report, lines, clock = reporter()
    for step in range(1, 101):
        clock.now += 0.125
        report.step(step, {"loss": 1 / step}, done=step / 100, saved=0)
    steps = [int(line.split()[2].rstrip(":")) for line in lines]
    assert steps == [1, 41, 81, 100]
    assert lines[-1] == "grpo step 100: 100% in 12 s  loss 0.010  not saved yet"


def test_a_silence_ends_with_what_the_stage_is_doing() -> None:
    report, lines, clock = reporter()
    for _ in range(13):
        clock.now += 5.0
        report.beat(2, "rollouts: 1 of 4 groups are complete")
    assert lines == [
        "grpo step 3, 30 s: rollouts: 1 of 4 groups are complete",
        "grpo step 3, 60 s: rollouts: 1 of 4 groups are complete",
    ]


def test_figures_that_are_missing_are_left_out() -> None:
    assert step_figures({}) == []
    known = {"loss": 0.5, "policy/entropy": 1.0, "speed/busy": 0.9, "staleness/mean": 1.25}
    assert step_figures(known) == ["loss 0.500", "entropy 1.0", "busy 90%", "stale 1.2"]


def test_a_small_entropy_is_no_zero() -> None:
    assert step_figures({"policy/entropy": 0.000214}) == ["entropy 0.00021"]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (89.4, "89 s"), (90.0, "1 min 30 s"), (599.4, "9 min 59 s"), (600.0, "10 min"), (5400.0, "1.5 h")],
)
def test_a_time_is_as_exact_as_its_length_deserves(seconds: float, said: str) -> None:
    assert say_seconds(seconds) == said
