"""Does a policy learn in the hall? One training run, and what it did on tasks that it never saw.

Warm-up, evaluation, GRPO, evaluation, and a control: the warm-up continued for as long as GRPO took, and evaluated too.
Every part is saved when it is done, and within the stages of training as they go.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import torch

from palaestra.benchmarks.learning.evaluation import Evaluation
from palaestra.benchmarks.learning.material import LearningMaterial, evaluate_policy
from palaestra.trainers import (
    GrpoConfig,
    GrpoLoop,
    ModelConfig,
    NativeConfig,
    OpenProgressBar,
    Policy,
    PolicyConfig,
    PoolConfig,
    SftConfig,
    SftLoop,
    StageProgress,
    WorldConfig,
    initial_policy,
    run_loop,
    worlds_of,
)
from palaestra.trajectory import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """One training run and its evaluations."""

    model: ModelConfig = field(default_factory=ModelConfig)
    """A fresh one is made; it reads and writes the format `compact`."""
    sft: SftConfig = field(default_factory=SftConfig)
    """The warm-up; the control goes on with it."""
    grpo: GrpoConfig = field(
        default_factory=lambda: GrpoConfig(pool=PoolConfig(agents=128), engine=NativeConfig(rows=128))
    )
    """Its rollouts' limits are the evaluations' too."""
    samples: int = 8
    """Episodes of each held-out task in each evaluation."""
    threads: int = 2
    """Of the arithmetic; the last bits of a sum, and so of a policy, depend on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPolicy:
    """A policy, and how it did."""

    policy: Policy
    progress: StageProgress
    """Of the stage that it is the result of."""
    evaluation: Evaluation
    episodes: Sequence[Episode]
    """The first of each task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningResult:
    """One training run."""

    seed: int
    before: MeasuredPolicy
    """After the warm-up."""
    after: MeasuredPolicy
    """After GRPO."""
    control: MeasuredPolicy
    """After more of the warm-up."""

    def parts(self) -> dict[str, MeasuredPolicy]:
        """The three, by name."""
        return {"before": self.before, "after-grpo": self.after, "control": self.control}


def learn(
    material: LearningMaterial,
    config: LearningConfig,
    *,
    seed: int,
    directory: Path,
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> LearningResult:
    """Train and evaluate with one seed, going on from what `directory` holds.

    Raises:
        CheckpointError: what is there is of other settings, or damaged.
        StorageError: the disk refuses; the last save stands.
    """
    torch.set_num_threads(config.threads)
    carry = partial(run_loop, threads=config.threads, bar=bar, say=say)
    demonstrations = list(material.demonstrations)

    def measured(name: str, policy: Policy, progress: StageProgress) -> MeasuredPolicy:
        evaluation, episodes = evaluate_policy(
            policy,
            material,
            config.grpo,
            directory / f"evaluation-{name}",
            samples=config.samples,
            name=f"seed {seed}, {name}",
            bar=bar,
            say=say,
        )
        return MeasuredPolicy(policy=policy, progress=progress, evaluation=evaluation, episodes=episodes)

    fresh = initial_policy(PolicyConfig(model=config.model), demonstrations, seed=seed)
    warm_up = SftLoop(config.sft, demonstrations, seed=seed, start=fresh, name="warm-up")
    warm = carry(warm_up, directory / "warm-up")
    before = measured("before", warm.policy, warm.progress)
    taught = carry(_grpo(material, config, seed=seed, start=warm.policy, say=say), directory / "grpo")
    after = measured("after-grpo", taught.policy, taught.progress)
    more = replace(config.sft, seconds=taught.progress.seconds)
    control = carry(SftLoop(more, demonstrations, seed=seed, start=warm.policy, name="control"), directory / "control")
    return LearningResult(
        seed=seed, before=before, after=after, control=measured("control", control.policy, control.progress)
    )


def _grpo(
    material: LearningMaterial, config: LearningConfig, *, seed: int, start: Policy, say: Callable[[str], None]
) -> GrpoLoop:
    world = WorldConfig(env_id=material.env_id)
    return GrpoLoop(
        config.grpo,
        tasks=material.train,
        worlds=partial(worlds_of, world, start.codec.format.name),
        seed=seed,
        start=start,
        world=material.env_id,
        say=say,
    )
