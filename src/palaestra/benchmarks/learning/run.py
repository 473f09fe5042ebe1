"""Does a policy learn in the hall? One training run, and what it did on tasks that it never saw.

Warm-up, evaluation, GRPO, evaluation, and a control: the warm-up continued for as long as GRPO took, and evaluated too.
Every part is saved when it is done, and within the stages of training as they go.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import torch
from pydantic import ValidationError

from palaestra.benchmarks.evaluation import EVALUATION, Evaluation, evaluate
from palaestra.digest import digest
from palaestra.durable import saving, sweep, verified
from palaestra.errors import CheckpointError, RecordError
from palaestra.trainers import (
    Control,
    Grpo,
    GrpoConfig,
    OpenBar,
    Policy,
    Progress,
    WarmUp,
    WarmUpConfig,
    run_stage,
)
from palaestra.trajectory import Episode, read_episodes, write_episodes


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """One training run and its evaluations."""

    warm_up: WarmUpConfig = field(default_factory=WarmUpConfig)
    grpo: GrpoConfig = field(default_factory=GrpoConfig)
    samples: int = 8
    """Episodes of each held-out task in each evaluation."""
    threads: int = 2
    """Of the arithmetic; the last bits of a sum, and so of a policy, depend on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What is learnt from and measured on."""

    env_id: str
    demonstrations: Sequence[Episode]
    train: Sequence[str]
    heldout: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A policy, and how it did."""

    policy: Policy
    progress: Progress
    """Of the stage that it is the result of."""
    evaluation: Evaluation
    episodes: Sequence[Episode]
    """The first of each task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """One training run."""

    seed: int
    before: Measured
    """After the warm-up."""
    after: Measured
    """After GRPO."""
    control: Measured
    """After more of the warm-up."""

    def parts(self) -> dict[str, Measured]:
        """The three, by name."""
        return {"before": self.before, "after-grpo": self.after, "control": self.control}


def learn(
    material: Material, config: LearningConfig, *, seed: int, directory: Path, bar: OpenBar, say: Callable[[str], None]
) -> Learnt:
    """Train and evaluate with one seed, going on from what `directory` holds.

    Raises:
        CheckpointError: what is there is of other settings, or damaged.
        StorageError: the disk refuses; the last save stands.
    """
    torch.set_num_threads(config.threads)

    def measured(name: str, policy: Policy, progress: Progress) -> Measured:
        evaluation, episodes = _evaluated(
            policy, material, config, directory / f"evaluation-{name}", name=f"seed {seed}, {name}", bar=bar, say=say
        )
        return Measured(policy=policy, progress=progress, evaluation=evaluation, episodes=episodes)

    warm_up = WarmUp(config.warm_up, material.demonstrations, seed=seed)
    warm = run_stage(warm_up, directory / "warm-up", bar=bar, say=say)
    before = measured("before", warm.policy, warm.progress)
    grpo = Grpo(config.grpo, env_id=material.env_id, tasks=material.train, seed=seed, start=warm.policy)
    taught = run_stage(grpo, directory / "grpo", bar=bar, say=say)
    after = measured("after-grpo", taught.policy, taught.progress)
    control = run_stage(
        Control(
            config.warm_up,
            material.demonstrations,
            seed=seed,
            start=warm.policy,
            seconds=taught.progress.seconds,
        ),
        directory / "control",
        bar=bar,
        say=say,
    )
    return Learnt(seed=seed, before=before, after=after, control=measured("control", control.policy, control.progress))


def _evaluated(
    policy: Policy,
    material: Material,
    config: LearningConfig,
    directory: Path,
    *,
    name: str,
    bar: OpenBar,
    say: Callable[[str], None],
) -> tuple[Evaluation, list[Episode]]:
    """The evaluation that is saved there, or a new one, which is then saved."""
    sweep(directory)
    fingerprint = digest([policy.digest(), material.heldout, config.samples, config.grpo.rollouts])
    if directory.exists():
        try:
            whole = verified(directory)
            if (whole / "fingerprint").read_text() == fingerprint:
                episodes = list(read_episodes(whole / "trajectories.jsonl"))
                evaluation = EVALUATION.validate_json((whole / "evaluation.json").read_bytes())
                say(f"evaluation {name}: done before")
                return evaluation, episodes
        except (RecordError, OSError, ValidationError) as error:
            raise CheckpointError(f"{error}; or remove {directory} to evaluate anew") from error
    with bar(f"evaluation {name}", len(material.heldout) * config.samples) as shown:
        evaluation, episodes = evaluate(
            policy,
            material.env_id,
            material.heldout,
            samples=config.samples,
            rollouts=config.grpo.rollouts,
            progress=shown.step,
            name=name,
        )
    with saving(directory) as temporary:
        (temporary / "fingerprint").write_text(fingerprint)
        (temporary / "evaluation.json").write_bytes(orjson.dumps(evaluation))
        write_episodes(temporary / "trajectories.jsonl", episodes)
    return evaluation, episodes
