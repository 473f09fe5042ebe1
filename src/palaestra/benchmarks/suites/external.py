"""An external benchmark as a suite, with a cell for each of its categories."""

import re
from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from palaestra.benchmarks.evaluation.suite import Cell, Suite
from palaestra.benchmarks.evenly import evenly
from palaestra.benchmarks.external import BENCHMARKS, Benchmark, ExternalEnv
from palaestra.errors import TaskError
from palaestra.records import Json


def suite(
    name: str,
    *,
    category: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    options: Mapping[str, Json] | None = None,
) -> Suite:
    """The tasks of a benchmark's split.

    Args:
        name: The benchmark's name.
        category: One of its categories. Default: all.
        split: One of its splits, or "all". Default: its first.
        limit: Maximum tasks per category.
        options: The benchmark's own options.

    Raises:
        UnknownNameError: there is no such split, category or option.
        ConfigError: the benchmark is not installed; the message says how to install it.
        InfrastructureError: it does not start.
        TaskError: the split lists no task.
    """
    benchmark = BENCHMARKS.get(name)
    given: dict[str, Any] = dict(options or {})  # Any: as `gymnasium.make` takes them
    benchmark.check_options(given)  # parameters of Gymnasium, such as max_turns, are not options
    env = gym.make(benchmark.env_id, **given).unwrapped
    assert isinstance(env, ExternalEnv), f"{benchmark.env_id} is a benchmark"
    split = split or next(iter(benchmark.splits))
    cells: dict[tuple[str, str], list[str]] = {}
    for id in env.ids(split, category):
        task = env.tasks[id]
        cells.setdefault((task["category"], task["split"]), []).append(id)
    installed = env.installed_version()
    env.close()
    if not cells:
        raise TaskError(f"{name}: the split {split} lists no task; its splits are {', '.join(benchmark.splits)}, all")
    made = tuple(
        Cell(
            id=own if split != "all" else f"{own}/{part}",
            label=own if split != "all" else f"{own}, {part}",
            env_id=benchmark.env_id,
            tasks=evenly(ids, limit),
            switches=given,
            split=f"{name}/{part}",
        )
        for (own, part), ids in cells.items()
    )
    played = {task for cell in made for task in cell.tasks}
    return Suite(
        name=name if category is None else f"{name}/{category}",
        title=f"{benchmark.title}, {split}",
        cells=made,
        notes=(
            _source(benchmark, installed),
            *_notes(benchmark, split, len(played), sum(map(len, cells.values())), given),
        ),
        versions=_versions(benchmark, played),
        known_bad=_known_bad_tasks(benchmark, played),
    )


def _source(benchmark: Benchmark, installed: str) -> str:
    """The source of the tasks as a note, so that a run is not resumed with another version."""
    proved = "" if installed == benchmark.version else f" (the adapter was proved with {benchmark.version})"
    return f"{benchmark.title}, version {installed}{proved}; licence {benchmark.licence}; {benchmark.source}."


def _notes(benchmark: Benchmark, split: str, played: int, listed: int, options: Mapping[str, Json]) -> tuple[str, ...]:
    meaning = "" if split == "all" else f" ({benchmark.splits[split]})"
    notes = [
        f"Split {split}{meaning}: {played} of {listed} tasks, evenly taken."
        if played < listed
        else f"Split {split}{meaning}: all {listed} tasks.",
    ]
    if options:
        notes.append("Options: " + ", ".join(f"{name}={value}" for name, value in sorted(options.items())) + ".")
    return (*notes, *([benchmark.notes] if benchmark.notes else []))


def _versions(benchmark: Benchmark, played: set[str]) -> dict[str, str]:
    if not benchmark.versions:
        return {}
    found = ((task, re.fullmatch(benchmark.versions, task)) for task in sorted(played))
    return {task: "".join(match.groups()) for task, match in found if match}


def _known_bad_tasks(benchmark: Benchmark, played: set[str]) -> dict[str, str]:
    named = {
        task if task.startswith(f"{benchmark.name}/") else f"{benchmark.name}/{task}": why
        for task, why in benchmark.known_bad.items()
    }
    return {task: why for task, why in named.items() if task in played}
