"""Reports of a stage's progress as lines for people: on a terminal beside the progress bar, and in a log."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from palaestra.trainers.objectives.objective import Metrics

STEP_SECONDS, QUIET_SECONDS = 5.0, 30.0
"""The minimum time between the lines of two steps, and the maximum time without any line, in seconds."""
_FIGURES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "reward/mean": ("reward", "{:.2f}"),
        "solved": ("solved", "{:.0%}"),
        "loss": ("loss", "{:.3f}"),
        "policy/entropy": ("entropy", "{:#.2g}"),
        "speed/tokens": ("tokens/s", "{:,.0f}"),
        "speed/busy": ("busy", "{:.0%}"),
        "staleness/mean": ("stale", "{:.1f}"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEvent:
    """An event in a stage that a person may want to find later."""

    name: str
    """The kind of event, such as an alarm's name."""
    text: str


class StageReporter:
    """Reports the progress of a stage.

    A step gets a line unless the last step's line is too recent; after a long silence, a line states what the stage is
    doing.

    Args:
        name: The stage's name.
        say: Called with each line.
        done: The share of the stage that was done before, 0 to 1.
        clock: Returns seconds, like `time.monotonic`.
    """

    def __init__(
        self, name: str, say: Callable[[str], None], *, done: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._name = name
        self._say = say
        self._clock = clock
        self._done_before = done
        self._began = clock()
        self._said_step: float | None = None
        self._said = self._began

    def step(self, step: int, metrics: Metrics, *, done: float, saved: int) -> None:
        """Report a completed step.

        Args:
            step: The number of completed steps.
            metrics: The figures of the step.
            done: The completed share of the stage.
            saved: The step of the last valid save; 0 without a save.
        """
        now = self._clock()
        if self._said_step is not None and now - self._said_step < STEP_SECONDS and done < 1:
            return
        self._said_step = now
        share = (done - self._done_before) or 1.0
        left = (now - self._began) / share * (1 - done)
        remaining = f", about {say_seconds(left)} left" if done < 1 else ""
        line = f"{self._name} step {step}: {done:.0%} in {say_seconds(now - self._began)}{remaining}"
        self._put("  ".join([line, *step_figures(metrics), f"saved at {saved}" if saved else "not saved yet"]))

    def beat(self, step: int, doing: str) -> None:
        """Report what the stage is doing, if there was no line for a long time."""
        if self._clock() - self._said >= QUIET_SECONDS:
            self._put(f"{self._name} step {step + 1}, {say_seconds(self._clock() - self._began)}: {doing}")

    def _put(self, line: str) -> None:
        self._said = self._clock()
        self._say(line)


def step_figures(metrics: Metrics) -> list[str]:
    """The most important figures of a step as texts; missing figures are left out."""
    return [f"{word} {form.format(metrics[name])}" for name, (word, form) in _FIGURES.items() if name in metrics]


def say_seconds(seconds: float) -> str:
    """A duration as text, in a suitable unit."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
