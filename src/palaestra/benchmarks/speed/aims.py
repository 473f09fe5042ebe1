"""What the engine aims at. A figure is shown beside its aim; no run fails for missing one, since machines differ."""

from palaestra.benchmarks.speed.copies import COPIES, WRITES, timing_name

AIMS: dict[str, float] = {
    "step": 20.0,
    "reset, warm": 50.0,
    **{timing_name(copy, WRITES): 20.0 for copy in COPIES},
}
"""Microseconds that a thing should take at most, on average, by the name of its timing."""

LIVE_BYTES = 64 * 1024
"""Bytes that a live environment should weigh at most, beyond what all share."""

LIVE_WORLDS = 10_000
"""How many environments one process should hold at once."""


def judge_aim(here: float, at_most: float) -> str:
    """The aim and whether it was met, as tables show it."""
    return f"{at_most:,.0f}, {'met' if here <= at_most else 'not met'}"
