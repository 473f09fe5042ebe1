"""The measurement: trains critics, plays each task, then computes every method's estimates of the turns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import fsum, sqrt
from pathlib import Path
from typing import Any

import orjson

from palaestra.benchmarks.credit.critics import (
    CriticBudget,
    dump_critic,
    explained_share,
    new_critic,
    reference_values,
    restore_critic,
    train_critic,
    value_columns,
)
from palaestra.benchmarks.credit.drawing import EpisodeSource, draw_sample
from palaestra.benchmarks.credit.forks import task_job
from palaestra.benchmarks.credit.methods import METHODS, estimator_of
from palaestra.benchmarks.credit.resampling import WAYS, resample_estimates
from palaestra.benchmarks.credit.sample import CreditDesign, TaskSample, one_group, trained_tokens
from palaestra.benchmarks.credit.scores import MethodScore, ScoredTurns, score_method
from palaestra.benchmarks.credit.store import read_sample, write_sample
from palaestra.benchmarks.evenly import evenly
from palaestra.digest import digest
from palaestra.durable import write_file
from palaestra.errors import CheckpointError, ConfigError
from palaestra.seeding import Stream
from palaestra.trainers import (
    NativeConfig,
    OpenProgressBar,
    PlayConfig,
    Policy,
    PoolConfig,
    WorldConfig,
    env_id_of,
    tasks_of,
)
from palaestra.trainers.critic import Critic
from palaestra.trainers.data.flatten import flatten
from palaestra.trainers.limits import check_at_least
from palaestra.trainers.objectives import BuiltObjective

_SETTINGS = "settings.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditConfig:
    """The settings of a measurement.

    Raises:
        ValueError: a number is below its minimum.
    """

    world: WorldConfig = field(default_factory=WorldConfig)
    tasks: int = 21
    """Number of tasks, spread evenly over the world's split and families; each has one reference episode."""
    design: CreditDesign = field(default_factory=CreditDesign)
    critic: CriticBudget = field(default_factory=CriticBudget)
    play: PlayConfig = field(default_factory=lambda: PlayConfig(context=1024, turn=72))
    pool: PoolConfig = field(default_factory=lambda: PoolConfig(agents=128))
    engine: NativeConfig = field(default_factory=lambda: NativeConfig(rows=128))
    seed: int = 0

    def __post_init__(self) -> None:
        check_at_least(1, tasks=self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticReading:
    """The training of a method's critic and its quality."""

    episodes: int
    """Number of training episodes; each is used `passes` times."""
    passes: int
    steps: int
    explained: float
    """The share of the variance of near-exact values that the critic explains, over the states of the references."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditReading:
    """The results of one policy."""

    policy: str
    """The name of the policy."""
    weights: str
    """The digest of its weights."""
    tasks: int
    families: int
    turns: int
    episodes: int
    """Number of episodes played for the tasks, continuations included, without the critics' training episodes."""
    size: float
    """The root mean square of near-exact advantages, without their noise, in the units of rewards."""
    error: float
    """The root mean square of their standard errors."""
    decided: int
    """Number of turns whose near-exact advantage exceeds its standard error in absolute value."""
    methods: Mapping[str, MethodScore]
    critics: Mapping[str, CriticReading]


def measure_credit(
    policy: Policy,
    config: CreditConfig,
    directory: Path,
    *,
    name: str,
    bar: OpenProgressBar,
    say: Callable[[str], None] = print,
) -> CreditReading:
    """Measure how close the methods' credit is to near-exact advantages; resume from the files in `directory`.

    Args:
        policy: The policy whose turns are scored; it plays all episodes.
        config: The settings of the measurement.
        directory: The folder of critics and finished tasks.
        name: The name of the policy in tables.
        bar: Opens a progress bar with a title and a number of steps.
        say: Receives messages about faults of worlds.

    Raises:
        CheckpointError: the folder's files are of other settings or another policy, or damaged.
        ConfigError: an episode may have more tokens than the policy reads, or there are too few tasks.
        InfrastructureError: the engine failed, or a world failed at every try.
        StorageError: the disk refuses a write; earlier files stay.
    """
    if config.play.context > policy.model.shape.context:
        raise ConfigError(
            f"context={config.play.context}: the policy reads {policy.model.shape.context} tokens; give no more"
        )
    listed = tasks_of(config.world)
    scored = evenly(listed, config.tasks)
    others = evenly([task for task in listed if task not in set(scored)], config.critic.tasks)
    if not others:
        raise ConfigError(
            f"tasks={config.tasks}: the split lists {len(listed)}, and critics learn from others; give fewer"
        )
    _begin(directory, config, policy)
    source = EpisodeSource(
        policy=policy, world=config.world, play=config.play, pool=config.pool, engine=config.engine, say=say
    )
    built = {method: objective.build() for method, objective in METHODS.items()}
    critics = _critics(source, config, others, built, directory, bar=bar, name=name)
    samples = _samples(source, config, scored, critics, built, directory, bar=bar, name=name)
    rounds = max(sample.turns for sample in samples) * config.design.groups * WAYS
    with bar(f"{name}: estimating", rounds) as progress:
        estimators = {method: estimator_of(one) for method, one in built.items()}
        estimates = resample_estimates(samples, estimators, config.design, progress=progress.step)
    turns = _scored_turns(samples)
    return CreditReading(
        policy=name,
        weights=policy.digest(),
        tasks=len(samples),
        families=len({sample.family for sample in samples}),
        turns=len(turns.exact),
        episodes=sum(_episodes(sample, config.design) for sample in samples),
        size=sqrt(max(0.0, _mean_square(turns.exact) - _mean_square(turns.errors))),
        error=sqrt(_mean_square(turns.errors)),
        decided=int(turns.decided.sum()),
        methods={method: score_method(turns, found, seed=config.seed) for method, found in estimates.items()},
        critics={method: _critic_reading(method, built[method], samples, config, len(others)) for method in critics},
    )


def _begin(directory: Path, config: CreditConfig, policy: Policy) -> None:
    """Check that the files in the folder have the same settings."""
    settings = {"digest": digest([config, env_id_of(config.world), policy.digest()]), "config": asdict(config)}
    file = directory / _SETTINGS
    if not file.exists():
        write_file(file, orjson.dumps(settings, option=orjson.OPT_INDENT_2, default=str))
        return
    try:
        before: dict[str, Any] = orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as error:
        raise CheckpointError(f"{file} cannot be read ({error}); choose another --out") from error
    if before.get("digest") != settings["digest"]:
        raise CheckpointError(
            f"{directory} holds a measurement of other settings or another policy ({file}); choose another --out, or "
            "delete it"
        )


def _critics(
    source: EpisodeSource,
    config: CreditConfig,
    tasks: Sequence[str],
    built: Mapping[str, BuiltObjective],
    directory: Path,
    *,
    bar: OpenProgressBar,
    name: str,
) -> dict[str, Critic]:
    """Train the critics of all methods that need one, or restore saved ones."""
    found = {
        method: new_critic(source.policy, one, config.critic) for method, one in built.items() if one.critic is not None
    }
    files = {method: directory / f"critic-{method}.safetensors" for method in found}
    missing = [method for method, file in files.items() if not file.exists()]
    for method, critic in found.items():
        if method not in missing:
            restore_critic(critic, files[method].read_bytes())
    if not missing:
        return found
    size = config.design.group_size
    jobs = [
        task_job(task, config.seed, "critic", number, world_seed=Stream.root("critic", config.seed, task).below(2**31))
        for task in tasks
        for number in range(size)
    ]
    with bar(f"{name}: episodes for critics", 1) as progress:
        episodes = source.episodes(jobs)
        progress.step(f"{len(episodes)} episodes")
    groups = [one_group(flatten(episodes[place : place + size])) for place in range(0, len(episodes), size)]
    for method in missing:
        with bar(f"{name}: critic of {method}", critic_steps(config.critic, len(groups))) as progress:
            stream = Stream.root("critic", config.seed, method)
            train_critic(found[method], built[method], groups, config.critic, stream=stream, progress=progress)
        write_file(files[method], dump_critic(found[method]))
    return found


def critic_steps(budget: CriticBudget, groups: int) -> int:
    """Number of optimiser steps of a critic on `groups` groups."""
    return budget.passes * -(-groups // budget.groups)


def _samples(
    source: EpisodeSource,
    config: CreditConfig,
    tasks: Sequence[str],
    critics: Mapping[str, Critic],
    built: Mapping[str, BuiltObjective],
    directory: Path,
    *,
    bar: OpenProgressBar,
    name: str,
) -> list[TaskSample]:
    """The samples of all tasks, restored from the disk or new."""
    found: list[TaskSample] = []
    with bar(f"{name}: forking", len(tasks)) as progress:
        for number, task in enumerate(tasks):
            file = directory / "tasks" / f"{number:04d}.npz"
            if not file.exists():
                drawn = draw_sample(source, task, config.design, seed=config.seed)
                valued = drawn.batch.with_columns(value_columns(drawn.batch, critics, built))
                sample = TaskSample(task=task, family=drawn.family, exact=drawn.exact, batch=trained_tokens(valued))
                write_sample(file, sample)
            found.append(read_sample(file))
            progress.step(task)
    return found


def _scored_turns(samples: Sequence[TaskSample]) -> ScoredTurns:
    return ScoredTurns(
        exact=tuple(value for one in samples for value in one.exact.advantages),
        errors=tuple(value for one in samples for value in one.exact.errors),
        tasks=tuple(one.task for one in samples for _ in range(one.turns)),
        families=tuple(one.family for one in samples for _ in range(one.turns)),
    )


def _critic_reading(
    method: str, built: BuiltObjective, samples: Sequence[TaskSample], config: CreditConfig, tasks: int
) -> CriticReading:
    assert built.critic is not None, f"{method} reads values"
    total = float(samples[0].batch.column("total_R").max())
    unit = total / built.returns if built.returns else 1.0
    first = [config.design.companions] * len(samples)
    said, exact = reference_values(samples, built.critic.column, first=first, unit=unit)
    return CriticReading(
        episodes=tasks * config.design.group_size,
        passes=config.critic.passes,
        steps=critic_steps(config.critic, tasks),
        explained=explained_share(said, exact),
    )


def _episodes(sample: TaskSample, design: CreditDesign) -> int:
    """Number of episodes of a sample, continuations included."""
    return design.companions + 1 + design.continuations + (sample.turns - 1) * (design.groups + design.continuations)


def _mean_square(values: Sequence[float]) -> float:
    return fsum(value**2 for value in values) / len(values)
