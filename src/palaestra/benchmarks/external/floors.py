"""What stands beside every score: what a benchmark's own solution gets, and what agents that know nothing get.

An adapter is proved by the first, and a score means what it stands above the others. Episodes in which the benchmark
failed are counted apart.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field, replace
from typing import Any

import gymnasium as gym

from palaestra.agents import LegalRandom, ScriptedAgent, finish_at_once, no_op, rollout
from palaestra.benchmarks.evenly import evenly
from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.env import ExternalEnv
from palaestra.errors import InfrastructureError, TaskError, UnknownNameError
from palaestra.protocols import Agent
from palaestra.record import record
from palaestra.records import Json
from palaestra.table import Table

AGENTS = ("gold", "no-op", "finish", "random")
"""The benchmark's solution, turns without a call, finishing at once, and random turns that make sense."""
_RANDOM_TURNS = 30
"""The most turns that the random agent takes."""
_SECONDS = 900.0
"""That a benchmark may take for one answer: some work their solution out when they are asked for it."""


@record
class AgentTally:
    """What one agent got on a category's tasks."""

    played: int = 0
    solved: int = 0
    points: int = 0
    seconds: float = 0.0
    """Of all episodes together."""
    faults: tuple[str, ...] = ()
    """What was said of each episode that the benchmark broke off."""
    missed: tuple[str, ...] = ()
    """The tasks that were not solved."""


@record
class Floors:
    """A benchmark's category, with what each agent got on it."""

    benchmark: str
    category: str
    version: str
    """That is installed."""
    tasks: int
    """In the split that was played."""
    tallies: Mapping[str, AgentTally] = field(default_factory=dict[str, AgentTally])
    """By agent; of gold only the tasks that have a solution."""


def floors_of(
    benchmark: Benchmark,
    *,
    split: str | None = None,
    categories: Sequence[str] = (),
    limit: int | None = None,
    agents: Sequence[str] = AGENTS,
    threads: int = 2,
    progress: Callable[[str], None] = lambda _: None,
    options: Mapping[str, Json] | None = None,
) -> list[Floors]:
    """Play a benchmark with the agents that prove it.

    Args:
        benchmark: Which, installed.
        split: Of its own; its first, if not said.
        categories: Of its own; all, if none. One that is named twice counts once, as an agent does.
        limit: Tasks of each category, spread evenly; all, if not said.
        agents: Which of `AGENTS`.
        threads: Episodes at once.
        progress: Told each task that was played.
        options: The benchmark's own.

    Returns:
        One for each category, in the benchmark's order.

    Raises:
        UnknownNameError: there is no such agent, split, category or option.
        ConfigError: the benchmark is not installed.
        InfrastructureError: it does not start.
        TaskError: the split, or a category of it, lists no task.
    """
    agents = tuple(dict.fromkeys(agents))
    benchmark.check_options(options or ())
    for agent in agents:
        if agent not in AGENTS:
            raise UnknownNameError.of("agent that proves a benchmark", agent, AGENTS)
    listing = _make(benchmark, options)
    ids = [id for category in dict.fromkeys(categories or (None,)) for id in _list_tasks(listing, split, category)]
    version = listing.installed_version()
    by_category: dict[str, list[str]] = {}
    for id in ids:
        by_category.setdefault(listing.tasks[id]["category"], []).append(id)
    found: list[Floors] = []
    with ThreadPoolExecutor(threads) as pool:
        for category, own in by_category.items():
            chosen = evenly(own, limit)
            shares = [chosen[number::threads] for number in range(min(threads, len(chosen)))]
            tallies: dict[str, AgentTally] = {}
            for agent in agents:
                playing = [pool.submit(_play, benchmark, share, agent, progress, options) for share in shares]
                tally = _add_up([part.result() for part in playing])
                missed = tuple(task for task in chosen if task in tally.missed)  # however they were shared out
                tallies[agent] = replace(tally, faults=tuple(sorted(tally.faults)), missed=missed)
            found.append(
                Floors(benchmark=benchmark.name, category=category, version=version, tasks=len(own), tallies=tallies)
            )
    listing.close()
    return found


def _list_tasks(env: ExternalEnv, split: str | None, category: str | None) -> tuple[str, ...]:
    ids = env.ids(split, category)
    if not ids:
        splits = env.benchmark.splits
        of = "" if category is None else f" of the category {category}"
        raise TaskError(
            f"{env.benchmark.name}: the split {split or next(iter(splits))} lists no task{of}; its splits are "
            f"{', '.join(splits)}, all"
        )
    return ids


def _make(benchmark: Benchmark, options: Mapping[str, Json] | None) -> ExternalEnv:
    settings: dict[str, Any] = {"seconds": _SECONDS, **(options or {})}
    env = gym.make(benchmark.env_id, **settings).unwrapped
    assert isinstance(env, ExternalEnv), f"{benchmark.env_id} is no benchmark"
    return env


def _play(
    benchmark: Benchmark,
    tasks: Sequence[str],
    name: str,
    progress: Callable[[str], None],
    options: Mapping[str, Json] | None,
) -> AgentTally:
    budget: dict[str, Json] = {"max_turns": _RANDOM_TURNS} if name == "random" else {}
    env = _make(benchmark, {**(options or {}), **budget})
    tally = AgentTally()
    for task in tasks:
        begun = time.monotonic()
        try:
            agent = _agent(env, name, task)
            if agent is None:
                continue
            episode = rollout(env, agent, name=name, seed=0, task=task)
            fault = None if episode.valid_for_baseline else "the episode was broken off"
            solved, points = episode.score.passed, episode.score.points
        except InfrastructureError as error:
            fault, solved, points = str(error), False, 0
        tally = _add_up(
            [
                tally,
                AgentTally(
                    played=fault is None,
                    solved=solved,
                    points=points,
                    seconds=time.monotonic() - begun,
                    faults=(f"{task}: {fault}",) if fault else (),
                    missed=() if solved else (task,),
                ),
            ]
        )
        progress(task)
    env.close()
    return tally


def _agent(env: ExternalEnv, name: str, task: str) -> Agent | None:
    """Who plays; nobody where gold is asked for and there is none."""
    if name == "no-op":
        return no_op()
    if name == "finish":
        return finish_at_once()
    if name == "random":
        return LegalRandom(env.legal_actions)
    env.reset(seed=0, options={"task": task})
    turns = env.oracle()
    return None if turns is None else ScriptedAgent(lambda: turns)


def _add_up(parts: Sequence[AgentTally]) -> AgentTally:
    return AgentTally(
        played=sum(part.played for part in parts),
        solved=sum(part.solved for part in parts),
        points=sum(part.points for part in parts),
        seconds=sum(part.seconds for part in parts),
        faults=tuple(fault for part in parts for fault in part.faults),
        missed=tuple(task for part in parts for task in part.missed),
    )


def together(floors: Sequence[Floors]) -> Floors:
    """A benchmark's categories as one."""
    first = floors[0]
    agents = dict.fromkeys(agent for each in floors for agent in each.tallies)
    return Floors(
        benchmark=first.benchmark,
        category="all",
        version=first.version,
        tasks=sum(each.tasks for each in floors),
        tallies={agent: _add_up([each.tallies[agent] for each in floors]) for agent in agents},
    )


def floors_table(floors: Sequence[Floors], licences: Mapping[str, str], *, title: str) -> Table:
    """A row for each of `floors`: what was solved of what was played, and what an episode takes."""
    rows = [
        (
            each.benchmark if each.category == "all" else f"{each.benchmark}/{each.category}",
            each.version,
            licences[each.benchmark],
            f"{each.tasks:,}",
            *(_cell(each.tallies.get(agent)) for agent in AGENTS),
            _seconds(each.tallies),
            str(sum(len(tally.faults) for tally in each.tallies.values())),
        )
        for each in floors
    ]
    return Table(
        title=title,
        columns=("benchmark", "version", "licence", "tasks", *AGENTS, "s an episode", "faults"),
        rows=tuple(rows),
        note="Solved of played, with the mean score where it says more. gold: the benchmark's own solution, of tasks "
        "that have one; no-op: turns without a call; finish: ends at once; random: turns that make sense, 30 at most. "
        "Seconds are of gold, or of random where there is none; faults are episodes that the benchmark broke off.",
    )


def _cell(tally: AgentTally | None) -> str:
    if tally is None or not tally.played:
        return "-"
    mean, share = tally.points / tally.played, 100 * tally.solved / tally.played
    more = f" ({mean:.1f})" if abs(mean - share) >= 0.05 else ""
    return f"{tally.solved:,}/{tally.played:,}{more}"


def _seconds(tallies: Mapping[str, AgentTally]) -> str:
    for agent in ("gold", "random"):
        tally = tallies.get(agent)
        if tally is not None and tally.played:
            return f"{tally.seconds / tally.played:.3f}"
    return "-"
