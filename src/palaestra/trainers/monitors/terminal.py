"""A run as people watch it: one line for each step."""

from rich.console import Console
from rich.text import Text

from palaestra.trainers.monitors.tracker import Tracker
from palaestra.trainers.objectives.objective import Metrics

_SHOWN = (
    ("reward", "reward/mean", "{:.3f}"),
    ("solved", "solved", "{:.0%}"),
    ("loss", "loss", "{:.3f}"),
    ("entropy", "policy/entropy", "{:.2f}"),
    ("tokens/s", "speed/tokens", "{:,.0f}"),
    ("busy", "speed/busy", "{:.0%}"),
    ("stale", "staleness/mean", "{:.1f}"),
)


def step_line(step: int, metrics: Metrics) -> str:
    """What a person wants to know of a step; figures that are missing are left out."""
    shown = [f"{word} {form.format(metrics[name])}" for word, name, form in _SHOWN if name in metrics]
    return "  ".join([f"step {step:>4}", *shown])


class TerminalTracker(Tracker):
    """Prints a line for each step and each event; nothing where nobody looks, such as into a file.

    Args:
        console: Where to; the error stream, so that output can be piped.
    """

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._console = console if console.is_terminal else None

    def log(self, step: int, metrics: Metrics) -> None:
        """Write down a step's figures."""
        if self._console is not None:
            self._console.print(Text(step_line(step, metrics)), soft_wrap=True)

    def event(self, step: int, name: str, text: str) -> None:
        """Write down what happened at a step."""
        if self._console is not None:
            self._console.print(Text(f"step {step:>4}  {name}: {text}", style="yellow"))

    def close(self) -> None:
        """There is nothing to close."""
