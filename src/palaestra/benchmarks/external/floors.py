"""The reference values of a benchmark: the scores of its own solution and of agents without knowledge.

The former proves the adapter, and only a score above the latter has meaning. Episodes in which the benchmark failed are
counted separately.
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
"""Maximum turns of the random agent."""
_SECONDS = 900.0
"""Maximum seconds for one answer of a benchmark: some compute their solution on request."""


@record
class AgentTally:
    """The results of one agent on a category's tasks."""

    played: int = 0
    solved: int = 0
    points: int = 0
    seconds: float = 0.0
    """The seconds of all episodes together."""
    faults: tuple[str, ...] = ()
    """The message of each episode that the benchmark broke off."""
    missed: tuple[str, ...] = ()
    """The tasks that were not solved."""


@record
class Floors:
    """A benchmark's category, with the results of each agent."""

    benchmark: str
    category: str
    version: str
    """The installed version."""
    tasks: int
    """The number of tasks in the played split."""
    tallies: Mapping[str, AgentTally] = field(default_factory=dict[str, AgentTally])
    """The results by agent; for gold, only tasks with a solution."""


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
    """Play a benchmark with its own solution and the floors.

    Args:
        benchmark: An installed benchmark.
        split: One of its splits. Default: its first.
        categories: Its categories. Default: all. Duplicates count once, as for agents.
        limit: Maximum tasks per category, spread evenly. Default: all.
        agents: Some of `AGENTS`.
        threads: Episodes at once.
        progress: Called with each played task.
        options: The benchmark's own options.

    Returns:
        The floors of each category, in the benchmark's order.

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
    """The agent that plays; `None` for gold if the task has no solution."""
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
    """A row for each of `floors`: solved and played tasks, and the time of an episode."""
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
