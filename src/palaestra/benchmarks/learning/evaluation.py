"""Evaluates a policy on tasks that it did not learn from, with several samples of each."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter

from palaestra.benchmarks.evaluation.metrics import family
from palaestra.benchmarks.statistics import (
    FEWEST,
    MeanEstimate,
    Observation,
    Unit,
    estimate_mean,
    estimate_share,
    paired_difference,
)
from palaestra.errors import ConfigError, TaskError
from palaestra.records import EndReason
from palaestra.trainers import (
    NativeConfig,
    PlayConfig,
    Policy,
    PoolConfig,
    RolloutJob,
    RolloutResult,
    RolloutWorlds,
    WorldConfig,
    play_jobs,
    worlds_of,
)
from palaestra.trainers.engines.noise import noise_key
from palaestra.trajectory import Episode

OpenWorlds: TypeAlias = Callable[[WorldConfig, str], RolloutWorlds]
"""Opens worlds for a world's settings and an action format."""
Measure: TypeAlias = Literal["solved", "solved-once", "points", "harmed", "unfinished"]
FEW_UNITS = f"Fewer than {FEWEST} units have no interval; their values are listed."


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The results of a policy on one task."""

    points: tuple[int, ...]
    """The rubric's score of each sample."""
    solved: tuple[bool, ...]
    harmed: tuple[bool, ...]
    """Whether the policy did something forbidden, for each sample."""
    turns: tuple[int, ...]
    ends: tuple[EndReason | None, ...]

    def values(self, measure: Measure) -> list[float]:
        """The points of each sample, or 100 where the measure holds and 0 otherwise; `solved-once` has one value."""
        match measure:
            case "points":
                return list(map(float, self.points))
            case "solved":
                held: Iterable[bool] = self.solved
            case "solved-once":
                held = [any(self.solved)]
            case "harmed":
                held = self.harmed
            case "unfinished":
                held = (end is None or not end.terminates for end in self.ends)
        return [100.0 * one for one in held]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The results of a policy on all tasks of a split."""

    tasks: Mapping[str, TaskResult]
    faults: int
    """Number of episodes in which the world failed; no figure includes them."""

    def observations(
        self, measure: Measure, *, tasks: Collection[str] | None = None, seed: int = 0
    ) -> list[Observation]:
        """A value for each episode, or for each task with `solved-once`.

        Args:
            measure: The measured quantity: points out of 100, or 100 where the measure holds and 0 otherwise.
                `solved-once` holds for a task that some sample solved (pass@k), `unfinished` for an episode that ended
                by a budget or an unreadable turn.
            tasks: The tasks to include; by default all.
            seed: The training seed of the policy.
        """
        return [
            Observation(value=value, task=task, family=family(task), training_seed=seed)
            for task, result in self.tasks.items()
            if tasks is None or task in tasks
            for value in result.values(measure)
        ]

    def pairs(self, twins: Mapping[str, str], *, seed: int = 0) -> list[Observation]:
        """For each sample of a task and its refusal twin, 100 if both were solved, otherwise 0.

        Args:
            twins: The twin of each task; pairs with a task that was not played are left out.
            seed: The training seed of the policy.
        """
        return [
            Observation(value=100.0 * (one and other), task=task, family=family(task), training_seed=seed)
            for task, twin in twins.items()
            if task in self.tasks and twin in self.tasks
            for one, other in zip(self.tasks[task].solved, self.tasks[twin].solved, strict=False)
        ]


def estimate(observations: Sequence[Observation], measure: Measure, unit: Unit) -> MeanEstimate:
    """Estimate the mean, or the share in per cent."""
    return estimate_mean(observations, unit) if measure == "points" else estimate_share(observations, unit, whole=100)


def difference(
    before: Sequence[Observation], after: Sequence[Observation], measure: Measure, unit: Unit
) -> MeanEstimate:
    """Estimate the increase of a mean or share from before to after, over tasks that have a score on both sides.

    A task whose world always failed on one side has no partner.
    """
    shared = {one.task for one in before} & {one.task for one in after}
    sides = [[one for one in side if one.task in shared] for side in (before, after)]
    return paired_difference(sides[0], sides[1], unit, whole=None if measure == "points" else 100)


EVALUATION = TypeAdapter(Evaluation)


def evaluate(
    policy: Policy,
    env_id: str,
    tasks: Mapping[str, int],
    *,
    seed: int = 0,
    play: PlayConfig,
    pool: PoolConfig | None = None,
    engine: NativeConfig | None = None,
    switches: Mapping[str, Any] = MappingProxyType({}),
    worlds: OpenWorlds = worlds_of,
    progress: Callable[[str], None] = lambda _: None,
    say: Callable[[str], None] = print,
) -> tuple[Evaluation, list[Episode]]:
    """Play every task a number of times.

    The noise of a sample depends only on the seed, the task and the number of the sample, so two policies get the same
    noise and their difference is paired. Other episodes do not affect the noise, but they affect the last bits of the
    logits: a token whose cumulative probability is within that rounding of its noise may be replaced by its neighbour.

    Args:
        policy: The policy that plays.
        env_id: The world.
        tasks: The ids of the tasks, each with its number of episodes.
        seed: Random seed of the policy's choices.
        play: The limits of an episode, and the name of the agent in records.
        pool: The number of concurrent episodes; no more worlds than that are open.
        engine: The settings of the sampling engine.
        switches: Further arguments of `gymnasium.make`: task files, a surface, a handbook, noise.
        worlds: Opens worlds for a world and an action format; by default in this process.
        progress: Receives the task of each finished episode.
        say: Receives a message for each fault of a world.

    Returns:
        The evaluation, and for each task the first episode that its world did not break off.

    Raises:
        TaskError: there are no tasks.
        ConfigError: an episode may have more tokens than the policy's model can read.
        InfrastructureError: the engine failed.
    """
    if not tasks:
        raise TaskError("there is no task to evaluate on; give a split that lists tasks")
    if play.context > policy.model.shape.context:
        raise ConfigError(f"context={play.context}: the policy reads {policy.model.shape.context} tokens; give no more")
    jobs = [_job(task, seed, sample) for task, samples in tasks.items() for sample in range(samples)]
    world = WorldConfig(env_id=env_id, switches=switches)
    opened = partial(worlds, world, policy.codec.format.name)
    played = play_jobs(policy, opened, jobs, play, pool=pool, engine=engine, progress=progress, say=say)
    results_in_order = iter(played)
    by_task = {task: _sound(islice(results_in_order, samples)) for task, samples in tasks.items()}
    results = {task: _result(own) for task, own in by_task.items() if own}
    faults = len(played) - sum(map(len, by_task.values()))
    return Evaluation(tasks=results, faults=faults), [own[0] for own in by_task.values() if own]


def _job(task: str, seed: int, sample: int) -> RolloutJob:
    return RolloutJob(
        trajectory=f"{task}/{sample}",
        group=task,
        task=task,
        seed=sample,
        noise=noise_key("evaluation", seed, task, sample),
    )


def _sound(played: Iterable[RolloutResult]) -> list[Episode]:
    return [one.episode for one in played if one.episode is not None]


def _result(episodes: Sequence[Episode]) -> TaskResult:
    return TaskResult(
        points=tuple(episode.score.points for episode in episodes),
        solved=tuple(episode.score.passed for episode in episodes),
        harmed=tuple(any(turn.violated for turn in episode.turns) for episode in episodes),
        turns=tuple(len(list(episode.turns)) for episode in episodes),
        ends=tuple(episode.end for episode in episodes),
    )
