"""Plays the episodes of one task: a reference, companions, and continuations from every state of the reference."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from palaestra.benchmarks.credit.forks import fork_at, own_tokens_of, return_behind, task_job, whole_trajectory
from palaestra.benchmarks.credit.near_exact import near_exact_advantages
from palaestra.benchmarks.credit.sample import CreditDesign, TaskSample, one_group
from palaestra.benchmarks.evaluation.metrics import family
from palaestra.errors import ConfigError, InfrastructureError
from palaestra.seeding import Stream
from palaestra.trainers import (
    NativeConfig,
    PlayConfig,
    Policy,
    PoolConfig,
    RolloutJob,
    WorldConfig,
    play_jobs,
    worlds_of,
)
from palaestra.trainers.data.flatten import flatten
from palaestra.trajectory import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSource:
    """Plays jobs with one policy in one world."""

    policy: Policy
    world: WorldConfig
    play: PlayConfig
    pool: PoolConfig
    engine: NativeConfig
    say: Callable[[str], None] = print

    def episodes(self, jobs: Sequence[RolloutJob]) -> list[Episode]:
        """Play the jobs and return their episodes.

        Raises:
            InfrastructureError: the engine failed, or a world failed at every try.
        """
        worlds = partial(worlds_of, self.world, self.policy.codec.format.name)
        played = play_jobs(self.policy, worlds, jobs, self.play, pool=self.pool, engine=self.engine, say=self.say)
        found = [one.episode for one in played if one.episode is not None]
        if len(found) < len(jobs):
            raise InfrastructureError(
                f"{jobs[0].task}: the world failed in {len(jobs) - len(found)} of {len(jobs)} episodes; mend it and "
                "start again, finished tasks are kept"
            )
        return found


def draw_sample(source: EpisodeSource, task: str, design: CreditDesign, *, seed: int) -> TaskSample:
    """Play the episodes of a task's sample. The batch holds every token and no critic column.

    Args:
        source: Plays the episodes.
        task: The id of the task.
        design: Numbers of groups and continuations.
        seed: Random seed of the measurement.

    Raises:
        ConfigError: the task's prompt leaves no token for a turn.
        InfrastructureError: see `EpisodeSource.episodes`.
    """
    job = partial(task_job, task, seed, world_seed=Stream.root("credit", seed, task).below(2**31))
    starts = ("reference", 1), ("companion", design.companions), ("value", design.continuations)
    first = source.episodes([job(kind, number) for kind, count in starts for number in range(count)])
    reference, companions, values = first[0], first[1 : 1 + design.companions], first[1 + design.companions :]
    tokens = own_tokens_of(reference)
    turns = sum(span.kind == "turn" for span in tokens.spans)
    if not turns:
        raise ConfigError(
            f"context={source.play.context}: the prompt of {task} has {len(tokens.ids)} tokens, which leave none for a "
            "turn; give more"
        )
    kinds = ("member", design.groups), ("value", design.continuations)
    forked = iter(
        source.episodes(
            [
                job(kind, number, place, prefix=fork_at(reference, place))
                for place in range(1, turns)
                for kind, count in kinds
                for number in range(count)
            ]
        )
        if turns > 1
        else []
    )
    members: list[Episode] = []
    paid = [[return_behind(episode, 0) for episode in values]]
    for place in range(1, turns):
        members += [whole_trajectory(next(forked), reference) for _ in range(design.groups)]
        paid.append([return_behind(next(forked), place) for _ in range(design.continuations)])
    rewards = [turn.reward for turn in reference.turns]
    return TaskSample(
        task=task,
        family=family(task),
        exact=near_exact_advantages([*rewards, *[0.0] * (turns - len(rewards))], paid),
        batch=one_group(flatten([*companions, reference, *members])),
    )
