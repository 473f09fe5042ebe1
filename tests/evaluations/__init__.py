"""Evaluations for tests: played by scripted agents in real worlds, and made up, outcome by outcome."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import orjson

from palaestra.agents import LegalRandom, finish_at_once, oracle, rollout
from palaestra.benchmarks.evaluation.outcome import EpisodeFault, EpisodeOutcome, FaultKind
from palaestra.benchmarks.evaluation.results import (
    OUTCOMES,
    SETTINGS,
    TRAJECTORIES,
    Results,
    Settings,
    episode_id,
    results_of,
)
from palaestra.benchmarks.evaluation.suite import Cell, Ladder, Suite
from palaestra.proof.baselines import baselines
from palaestra.protocols import Agent
from palaestra.trajectory import Episode, write_episodes

STOREFRONT = "palaestra/Storefront-v0"

# Any: what Palaestra's environments add to Gymnasium's interface is known to `gym.make` alone.
AGENTS: Mapping[str, Callable[[Any], Agent]] = {
    "oracle": lambda world: oracle(world.oracle),
    "random": lambda world: LegalRandom(world.legal_actions),
    "reader": lambda world: baselines(world)["reader"],
    "idle": lambda _: finish_at_once(),
}


def outcome(
    cell: str = "base",
    task: str = "w/f/0",
    sample: int = 0,
    *,
    solved: bool = False,
    points: int | None = None,
    fault: FaultKind | None = None,
    **given: Any,
) -> EpisodeOutcome:
    """An outcome; solved is 100 points where nothing else is said."""
    return EpisodeOutcome(
        cell=cell,
        task=task,
        sample=sample,
        solved=solved,
        points=100 * solved if points is None else points,
        fault=EpisodeFault(kind=fault, said="by the test") if fault else None,
        **given,
    )


def suite(cells: Mapping[str, Sequence[str]], *, ladders: Sequence[Ladder] = (), **given: Any) -> Suite:
    """A suite of these tasks by cell, each cell named in words after its id."""
    return Suite(
        name="made",
        title="Made up",
        cells=tuple(
            Cell(id=id, label=f"cell {id}", env_id=STOREFRONT, tasks=tuple(tasks), split=f"storefront/{id}")
            for id, tasks in cells.items()
        ),
        ladders=tuple(ladders),
        **given,
    )


def results(
    outcomes: Iterable[EpisodeOutcome],
    *,
    agent: str = "made-up",
    suite: Suite | None = None,
    samples: int = 1,
    episodes: Sequence[Episode] = (),
    **given: Any,
) -> Results:
    """Results of these outcomes; of a suite of their tasks where none is given."""
    outcomes = list(outcomes)
    cells: dict[str, dict[str, None]] = {}
    for one in outcomes:
        cells.setdefault(one.cell, {})[one.task] = None
    settings = Settings(agent=agent, suite=suite or _suite_of(cells), samples=samples, seed=0, **given)
    return results_of(settings, outcomes, episodes)


def _suite_of(cells: Mapping[str, Mapping[str, None]]) -> Suite:
    return suite({cell: list(tasks) for cell, tasks in cells.items()})


def noise_suite(families: Sequence[str], *, tasks: int = 2) -> Suite:
    """Storefront tasks without noise, with failing calls and with other names, as two ladders."""
    env: Any = gym.make(STOREFRONT)
    listed: list[str] = env.unwrapped.task_set.ids("dev")
    kept = tuple(id for family in families for id in [one for one in listed if one.split("/")[1] == family][:tasks])
    env.close()

    def cell(id: str, label: str, **noise: int | bool) -> Cell:
        switches = {"noise": noise} if noise else {}
        return Cell(id=id, label=label, env_id=STOREFRONT, tasks=kept, switches=switches, split="storefront/dev")

    return Suite(
        name="noise",
        title="Noise",
        cells=(
            cell("base", "none"),
            cell("failures/20", "20 % of calls fail", failures=20),
            cell("failures/60", "60 % of calls fail", failures=60),
            cell("renames", "tools renamed", renames=True),
        ),
        ladders=(
            Ladder(axis="failures", title="Failing calls", cells=("base", "failures/20", "failures/60"), note="Calls."),
            Ladder(axis="names", title="Names of tools", cells=("base", "renames"), note="Tools go by other names."),
        ),
        notes=("Nothing here was tuned on.",),
    )


def played(suite: Suite, agent: str, *, samples: int = 1) -> Results:
    """The suite, played by one of `AGENTS`."""
    outcomes: list[EpisodeOutcome] = []
    episodes: list[Episode] = []
    for cell in suite.cells:
        env: Any = gym.make(cell.env_id, **cell.switches)
        for task in cell.tasks:
            for sample in range(samples):
                episode = rollout(env, AGENTS[agent](env.unwrapped), name=agent, seed=sample, task=task)
                outcomes.append(counted(cell.id, sample, episode))
                if sample == 0:
                    episodes.append(replace(episode, id=episode_id(cell.id, task, 0)))
        env.close()
    return results(outcomes, agent=agent, suite=suite, samples=samples, episodes=episodes)


def write_evaluation(results: Results, folder: Path) -> Path:
    """The results in a folder, as an evaluation leaves them."""
    folder.mkdir(parents=True)
    (folder / SETTINGS).write_bytes(orjson.dumps(results.settings))
    (folder / OUTCOMES).write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in results.outcomes))
    write_episodes(folder / TRAJECTORIES, results.episodes)
    return folder


def counted(cell: str, sample: int, episode: Episode) -> EpisodeOutcome:
    """An episode's outcome, counted here by itself."""
    turns = list(episode.turns)
    events = [event for turn in turns for event in turn.events]
    return EpisodeOutcome(
        cell=cell,
        task=episode.task.id,
        sample=sample,
        points=episode.score.points,
        solved=episode.score.passed,
        harmed=any(turn.violated for turn in turns),
        criteria={name: verdict.met for name, verdict in episode.score.verdicts.items()},
        end=episode.end,
        turns=len(turns),
        calls=sum(len(turn.calls) for turn in turns),
        invalid=sum(not event.schema_ok for event in events),
        refused=sum(event.schema_ok and event.error is not None for event in events),
    )
