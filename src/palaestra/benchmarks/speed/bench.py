"""`palaestra bench env`: what a world costs, measured in one run so that its ratios mean something on any machine."""

import os
import platform
from collections.abc import Callable, Sequence
from itertools import cycle, islice

import gymnasium as gym

from palaestra.benchmarks.speed.copies import WRITES, time_copies
from palaestra.benchmarks.speed.episodes import mix, time_cold_resets, time_episodes
from palaestra.benchmarks.speed.figures import Ratio, SpeedReport, Timing, ratio
from palaestra.benchmarks.speed.peers import time_functions, time_naive, time_reads, time_row_copies
from palaestra.benchmarks.speed.stopwatch import METHOD, Stopwatch
from palaestra.benchmarks.speed.weights import weigh
from palaestra.envs import ToolEnv
from palaestra.records import JsonObject

SECTIONS = (
    "cold resets",
    "episodes",
    "copies",
    "bare functions",
    "plain dictionaries",
    "reads",
    "row copies",
    "memory",
)
"""What is measured, in this order; `progress` is told each name when it is done."""

_PLACES = 40
"""At how many tasks copies and hashes are measured."""
_NAIVE = 100
"""For how many tasks the naive baseline copies its rows."""
_COPIES = 20

_RATIOS = (
    ("validation, journal, events, reward, hashes and observation", "step", "bare function"),
    ("the same functions on plain dictionaries", "naive function", "bare function"),
    ("resetting plain dictionaries", "naive reset", "reset, warm"),
    ("resetting by copy.deepcopy", "copy.deepcopy of the rows", "reset, warm"),
    ("resetting by pickle.loads", "pickle.loads of the rows", "reset, warm"),
    ("forking by copy.deepcopy", "copy.deepcopy of the rows", f"fork, {WRITES} writes"),
    ("reading through SQL", "point read, SQL projection", "point read, overlay"),
)


def bench_env(
    env_id: str = "palaestra/Storefront-v0",
    *,
    episodes: int = 2_000,
    worlds: int = 2_000,
    seed: int = 0,
    progress: Callable[[str], None] = lambda _: None,
) -> SpeedReport:
    """Measure a world: steps over the oracle's mix of split train, resets, copies, hashes, memory, and simpler ways.

    Args:
        env_id: The world.
        episodes: How many episodes the oracle plays with the clock on it.
        worlds: How many environments live at once when they are weighed.
        seed: Draws the order of the tasks.
        progress: Told the name of each of `SECTIONS` when it is done.
    """
    env = _made(env_id)
    task_ids = mix(env, seed)
    train = len(env.world.seeds["train"])
    watch = Stopwatch()
    watch.time_empty("the clock itself", 1_000)
    few = task_ids[: min(episodes, _PLACES)]
    sections: dict[str, Callable[[], None]] = {
        # One task more than there are worlds: then one world at least is met again, warm.
        "cold resets": lambda: time_cold_resets(watch, env, task_ids[: max(episodes, train + 1)]),
        "episodes": lambda: _time_warm_episodes(watch, env, task_ids, episodes),
        "copies": lambda: time_copies(watch, _made(env_id, max_turns=100_000), few),
        "bare functions": lambda: time_functions(watch, env, list(islice(cycle(task_ids), episodes))),
        "plain dictionaries": lambda: time_naive(watch, env, task_ids[: min(episodes, _NAIVE)]),
        "reads": lambda: time_reads(watch, env, task_ids[0]),
        "row copies": lambda: time_row_copies(watch, env, task_ids[0], min(episodes, _COPIES)),
    }
    for name, measure in sections.items():
        watch.section()
        measure()
        progress(name)
    memory = weigh(env_id, task_ids[: max(1, episodes)], worlds)
    progress(SECTIONS[-1])
    timings = watch.timings()
    return SpeedReport(
        env_id=env_id,
        episodes=episodes,
        seed=seed,
        machine=_machine(),
        method=METHOD,
        timings=timings,
        ratios=_ratios(timings),
        memory=memory,
    )


def _made(env_id: str, *, max_turns: int | None = None) -> ToolEnv:
    env = gym.make(env_id, max_turns=max_turns)
    assert isinstance(env, ToolEnv), f"{env_id} is wrapped, or no environment of Palaestra's"
    return env


def _time_warm_episodes(watch: Stopwatch, env: ToolEnv, task_ids: Sequence[str], episodes: int) -> None:
    time_episodes(Stopwatch(), env, task_ids, min(episodes, len(task_ids)))  # indexes are built when first used
    watch.section()
    time_episodes(watch, env, task_ids, episodes)


def _ratios(timings: Sequence[Timing]) -> tuple[Ratio, ...]:
    return tuple(ratio(name, timings, of, to) for name, of, to in _RATIOS)


def _machine() -> JsonObject:
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count() or 1,
    }
