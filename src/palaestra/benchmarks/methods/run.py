"""GRPO, GiGPO, HiPER and SeeUPO from one warm start, in the planner's format, for equally many tokens.

What they have in common is the same for all: world, tasks, groups, learning rate, no reference policy, advantages of
deviation 1, and how many of the policy's own tokens are trained on. What makes each what it is, is its preset's. The
settings were fixed before the first run, and none was changed afterwards.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from palaestra.benchmarks.learning import LearningMaterial, evaluate_policy, groups_by_training
from palaestra.benchmarks.learning.evaluation import Evaluation
from palaestra.trainers import (
    CriticConfig,
    GrpoConfig,
    GrpoLoop,
    LearnerConfig,
    ModelConfig,
    ObjectiveConfig,
    OpenProgressBar,
    PlayConfig,
    Policy,
    PolicyConfig,
    PoolConfig,
    SftConfig,
    SftLoop,
    StageProgress,
    Staleness,
    WorldConfig,
    demonstrations_of,
    env_id_of,
    initial_policy,
    run_loop,
    tasks_of,
    worlds_of,
)

_OVERS: Mapping[str, Mapping[str, Any]] = {
    "grpo": {},
    "gigpo": {"regularisers": []},
    "hiper": {"regularisers": []},
    "seeupo": {"regularisers": []},
}
METHODS: Mapping[str, ObjectiveConfig] = MappingProxyType(
    {name: ObjectiveConfig(preset=name, parts=parts) for name, parts in _OVERS.items()}
)
"""The presets, without their terms against a reference policy, and with advantages of deviation 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodsConfig:
    """A comparison."""

    world: WorldConfig = field(default_factory=WorldConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    sft: SftConfig = field(default_factory=SftConfig)
    """The warm start, which is the same for all methods and seeds."""
    grpo: GrpoConfig = field(
        default_factory=lambda: GrpoConfig(
            tokens=160_000,
            limits=Staleness(per_step=16),
            play=PlayConfig(context=1024, turn=64),
            pool=PoolConfig(agents=128),
            critic=CriticConfig(learner=LearnerConfig(lr=2e-3, layout="shared"), updates=2),
        )
    )
    """What all methods have in common."""
    samples: int = 3
    """Episodes of each held-out task in each evaluation."""
    threads: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """What one method came to with one seed."""

    method: str
    seed: int
    progress: StageProgress
    evaluation: Evaluation


def material_of(config: MethodsConfig, *, bar: OpenProgressBar) -> LearningMaterial:
    """The world's demonstrations, and its tasks to learn from and to measure on."""
    return LearningMaterial(
        world=config.world,
        demonstrations=demonstrations_of(config.world, bar=bar),
        heldout=groups_by_training(tasks_of(config.world), tasks_of(replace(config.world, split="heldout"))),
    )


def compare_methods(
    material: LearningMaterial,
    config: MethodsConfig,
    *,
    seeds: int,
    directory: Path,
    methods: Mapping[str, ObjectiveConfig] = METHODS,
    bar: OpenProgressBar,
    say: Callable[[str], None] = print,
) -> tuple[Evaluation, list[MethodResult]]:
    """Train with every method and seed, going on from what `directory` holds.

    Returns:
        How the warm start does, and what each came to, seed by seed.

    Raises:
        CheckpointError: what is there is of other settings, or damaged.
        StorageError: the disk refuses; the last save stands.
    """
    torch.set_num_threads(config.threads)
    carry = partial(run_loop, threads=config.threads, bar=bar, say=say)
    seen = list(material.demonstrations)
    fresh = initial_policy(PolicyConfig(model=config.model, format="planner"), seen, seed=0)
    warm = carry(SftLoop(config.sft, seen, seed=0, start=fresh, name="warm-up"), directory / "warm-up").policy

    def measured(policy: Policy, name: str) -> Evaluation:
        place = directory / f"evaluation-{name}"
        found, _ = evaluate_policy(
            policy, material, config.grpo, place, samples=config.samples, name=name, bar=bar, say=say
        )
        return found

    before = measured(warm, "warm-up")
    found: list[MethodResult] = []
    for seed in range(seeds):
        for method, objective in methods.items():
            name = f"{method}-{seed}"
            loop = GrpoLoop(
                replace(config.grpo, objective=objective),
                tasks=tasks_of(config.world),
                worlds=partial(worlds_of, config.world, warm.codec.format.name),
                seed=seed,
                start=warm,
                world=env_id_of(config.world),
                say=say,
            )
            taught = carry(loop, directory / name)
            evaluation = measured(taught.policy, name)
            found.append(MethodResult(method=method, seed=seed, progress=taught.progress, evaluation=evaluation))
    return before, found
