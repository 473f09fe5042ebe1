"""How a policy does on a split: several samples a task, families seen in training and unseen ones apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter

from palaestra.benchmarks.statistics import clustered_mean
from palaestra.benchmarks.table import Table
from palaestra.errors import TaskError
from palaestra.records import EndReason
from palaestra.seeding import Stream
from palaestra.trainers import Job, Policy, RolloutConfig, play
from palaestra.trajectory import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """What a policy did on one task."""

    unseen: bool
    """Whether the family is in no training split."""
    points: tuple[int, ...]
    """The rubric's score of each sample."""
    solved: tuple[bool, ...]
    harmed: tuple[bool, ...]
    """Whether something forbidden was done."""
    turns: tuple[int, ...]
    ends: tuple[EndReason | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a policy did on every task of a split."""

    tasks: Mapping[str, TaskResult]
    faults: int
    """Episodes in which the world failed; they are in no figure."""

    def points(self, *, unseen: bool) -> dict[str, list[float]]:
        """Scores by task, of the families that are unseen, or of those that are not."""
        return {task: list(map(float, r.points)) for task, r in self.tasks.items() if r.unseen == unseen}

    def solved(self, *, unseen: bool) -> dict[str, list[float]]:
        """100 for a sample that solved its task and 0 for another, by task."""
        return {task: [100.0 * s for s in r.solved] for task, r in self.tasks.items() if r.unseen == unseen}

    def harmed(self, *, unseen: bool) -> dict[str, list[float]]:
        """100 for a sample that did something forbidden and 0 for another, by task."""
        return {task: [100.0 * h for h in r.harmed] for task, r in self.tasks.items() if r.unseen == unseen}


EVALUATION = TypeAdapter(Evaluation)


def evaluate(
    policy: Policy,
    env_id: str,
    tasks: Sequence[str],
    *,
    samples: int,
    seed: int = 0,
    rollouts: RolloutConfig,
    switches: Mapping[str, Any] = MappingProxyType({}),
    name: str = "policy",
    progress: Callable[[str], None] | None = None,
) -> tuple[Evaluation, list[Episode]]:
    """Play every task `samples` times.

    The noise of a sample depends on the seed, the task and its number alone, so that two policies meet the same luck
    and their difference is paired.

    Returns:
        The evaluation, and the first episode of each task.

    Raises:
        TaskError: there are no tasks.
    """
    if not tasks:
        raise TaskError("there is no task to evaluate on; give a split that lists tasks")
    jobs = [
        Job(task=task, seed=sample, noise=Stream.root("evaluation", seed, task, sample))
        for task in tasks
        for sample in range(samples)
    ]
    episodes = play(policy, env_id, jobs, rollouts, switches=switches, name=name, progress=progress)
    by_task: dict[str, list[Episode]] = {task: [] for task in tasks}
    for episode in episodes:
        if episode.valid_for_baseline:
            by_task[episode.task.id].append(episode)
    results = {task: _result(own) for task, own in by_task.items() if own}
    faults = sum(not episode.valid_for_baseline for episode in episodes)
    return Evaluation(tasks=results, faults=faults), episodes[::samples]


def _result(episodes: Sequence[Episode]) -> TaskResult:
    return TaskResult(
        unseen=episodes[0].task.unseen,
        points=tuple(episode.score.points for episode in episodes),
        solved=tuple(episode.score.passed for episode in episodes),
        harmed=tuple(any(turn.violated for turn in episode.turns) for episode in episodes),
        turns=tuple(len(list(episode.turns)) for episode in episodes),
        ends=tuple(episode.end for episode in episodes),
    )


def evaluation_table(evaluation: Evaluation, *, title: str) -> Table:
    """Mean score, and the shares that solve and that harm, with intervals."""
    rows: list[tuple[str, ...]] = []
    for unseen in (False, True):
        points = evaluation.points(unseen=unseen)
        if points:
            episodes = sum(map(len, points.values()))
            rows.append(
                (
                    "unseen in training" if unseen else "trained on",
                    str(len(points)),
                    str(episodes),
                    clustered_mean(points).text(),
                    clustered_mean(evaluation.solved(unseen=unseen)).text(),
                    clustered_mean(evaluation.harmed(unseen=unseen)).text(),
                )
            )
    lost = f" {evaluation.faults} episodes in which the world failed are left out." if evaluation.faults else ""
    return Table(
        title=title,
        columns=("families", "tasks", "episodes", "mean score", "solved, %", "harmful, %"),
        rows=tuple(rows),
        note="Points of 100, less what harm takes, with 95 % intervals that resample tasks. Harmful episodes did "
        f"something forbidden.{lost}",
    )


def pooled(evaluations: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, list[float]]:
    """The values of several seeds by task; the task stays the cluster."""
    together: dict[str, list[float]] = {}
    for values in evaluations:
        for task, own in values.items():
            together.setdefault(task, []).extend(own)
    return together
