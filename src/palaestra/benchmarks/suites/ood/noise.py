"""Disturbances of the world, in three strengths; `docs/noise.md` says what each switch does."""

from collections.abc import Mapping

from palaestra.benchmarks.suites.ood.axis import Axis, cell_under_switches
from palaestra.benchmarks.suites.ood.pool import TaskPool
from palaestra.manifest import ANY_WORLD

LIGHT = {"distractors": 5, "stale": 10, "latency": 50, "events": 6}
"""More tools than needed, a few stale entries; nothing is refused."""
MEDIUM = {"distractors": 15, "caps": True, "stale": 30, "conflicts": 1, "failures": 10, "latency": 100, "events": 30}
"""One call in ten fails, lists are cut, one note contradicts a record."""
STRONG = {
    "distractors": 40,
    "caps": True,
    "stale": 60,
    "conflicts": 3,
    "failures": 25,
    "rate_limit": 10,
    "latency": 200,
    "events": 120,
    "injections": 50,
}
"""One call in four fails, ten calls a minute are allowed, and every second text of an outsider has an instruction."""
TURNS = 140
"""The budget of turns if calls may be refused temporarily: enough to repeat every call of the longest task."""


def noise(pool: TaskPool) -> Axis:
    """The axis of noise."""
    medium = {"noise": _select_supported(pool, MEDIUM), "max_turns": TURNS}
    return Axis.of(
        pool,
        "noise",
        "Noise",
        [
            pool.base,
            cell_under_switches(
                pool, "noise/light", "light (more tools, some stale entries)", {"noise": _select_supported(pool, LIGHT)}
            ),
            cell_under_switches(
                pool,
                "noise/medium",
                "medium (a tenth of calls fail)",
                medium,
            ),
            cell_under_switches(
                pool,
                "noise/strong",
                "strong (a quarter fail, rates are limited, texts mislead)",
                {"noise": _select_supported(pool, STRONG), "max_turns": TURNS},
            ),
        ],
        note="The same tasks under several kinds of noise at once. Where calls are refused for the moment the "
        f"budget is {TURNS} turns in place of the task's own, so that patience is not cut off.",
    )


def _select_supported(pool: TaskPool, level: Mapping[str, int | bool]) -> dict[str, int | bool]:
    """A level without the switches that the world has no data for."""
    own = (*ANY_WORLD, *pool.world.capabilities.noise)
    return {name: value for name, value in level.items() if name in own}
