"""Target values of the engine, which tables show beside the figures; a run never fails, because machines differ."""

from palaestra.benchmarks.speed.copies import COPIES, WRITES, timing_name

AIMS: dict[str, float] = {
    "step": 20.0,
    "reset, warm": 50.0,
    **{timing_name(copy, WRITES): 20.0 for copy in COPIES},
}
"""Maximum mean in microseconds, by the name of the timing."""

LIVE_BYTES = 64 * 1024
"""Maximum bytes of a live environment beyond what all environments share."""

LIVE_WORLDS = 10_000
"""Number of environments that one process should hold at once."""


def judge_aim(here: float, at_most: float) -> str:
    """The target and whether it was met, as tables show it."""
    return f"{at_most:,.0f}, {'met' if here <= at_most else 'not met'}"
