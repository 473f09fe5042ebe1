"""One training run, and how each of its policies does on tasks that it never saw.

A warm start from few demonstrations, expert iteration, and a short policy gradient on solved tasks alone; if asked for,
controls that get as much. Stages are those of `palaestra train`. A run begins with fresh weights, or with a pretrained
base, which is evaluated too. Every part is saved when it is done, and within the stages as they go.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from palaestra.benchmarks.learning.base import find_base
from palaestra.benchmarks.learning.evaluation import Evaluation
from palaestra.benchmarks.learning.material import LearningMaterial, evaluate_policy, write_demonstrations
from palaestra.trainers import (
    BranchingConfig,
    ChoiceConfig,
    ExpertConfig,
    GrpoConfig,
    LearnerConfig,
    ModelConfig,
    NativeConfig,
    ObjectiveConfig,
    OpenProgressBar,
    PlayConfig,
    Policy,
    PolicyConfig,
    PoolConfig,
    RejectionConfig,
    SftConfig,
    StageConfig,
    StageProgress,
    TrainConfig,
    load_policy,
    plan_run,
    read_progress,
    run,
)
from palaestra.trajectory import Episode

STAGES = {"sft": "warm-start", "expert": "expert-iteration", "grpo": "policy-gradient"}
"""The names of the policies that the stages come to."""
BASE = "base"
"""The name of the pretrained policy that a run begins with."""
_FURTHER = 3
"""Times as many demonstrations, in the control that has more of them."""


def _rollouts() -> PoolConfig:
    return PoolConfig(agents=128)


def _play() -> PlayConfig:
    return PlayConfig(context=1024, turn=72)


def _engine() -> NativeConfig:
    return NativeConfig(rows=128)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """One training run and its evaluations."""

    model: ModelConfig = field(default_factory=ModelConfig)
    """A fresh one is made; it reads and writes the format `compact`."""
    base: str | None = None
    """A pretrained model's name or a checkpoint's folder, to begin with in place of a fresh `model`."""
    families: int | None = None
    """Families to learn from at most; all that the world names for the demo without it."""
    heldout: int | None = None
    """Held-out tasks of each family in each group at most; all of them without it."""
    device: str = "cpu"
    """Where training works: "auto" (CUDA where there is one), or a name of torch's."""
    demonstrations: int = 20
    """Of each family, for the warm start and for what is mixed in later."""
    sft: SftConfig = field(default_factory=lambda: SftConfig(steps=400))
    expert: ExpertConfig = field(
        default_factory=lambda: ExpertConfig(
            steps=20,
            updates=60,
            demonstration_share=0.5,
            learner=LearnerConfig(lr=2e-3),
            choice=ChoiceConfig(rule="bandit", instances="endless"),
            branching=BranchingConfig(pivots=("best",)),
            play=_play(),
            pool=_rollouts(),
            engine=_engine(),
        )
    )
    """Its rollouts' limits are the evaluations' too."""
    grpo: GrpoConfig = field(
        default_factory=lambda: GrpoConfig(
            steps=4,
            objective=ObjectiveConfig(parts={"rewards": ["solved"]}),
            play=_play(),
            pool=_rollouts(),
            engine=_engine(),
        )
    )
    controls: bool = False
    """Whether there are controls as well."""
    samples: int = 4
    """Episodes of each held-out task in each evaluation."""
    temperatures: tuple[float, ...] = (1.0, 0.3, 0.0)
    """Evaluations of each policy; at 0 there is one episode of each task, because all would be alike."""
    threads: int = 2
    """Of the arithmetic; the last bits of a sum, and so of a policy, depend on it."""

    @property
    def most_demonstrations(self) -> int:
        """Demonstrations of a family that are needed at most."""
        return self.demonstrations * (_FURTHER if self.controls else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPolicy:
    """A policy, and how it did."""

    policy: Policy
    progress: StageProgress
    """Of the stage that it is the result of."""
    evaluations: Mapping[float, Evaluation]
    """By temperature."""
    episodes: Sequence[Episode]
    """The first of each task, at the first temperature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningResult:
    """One training run."""

    seed: int
    parts: Mapping[str, MeasuredPolicy]
    """The policies by name: the base if there is one, the warm start, each later stage, then the controls."""


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
        ConfigError: the base is not installed.
        UnknownNameError: no such base exists.
        StorageError: the disk refuses; the last save stands.
    """
    base = None if config.base is None else find_base(config.base)
    few = write_demonstrations(material, config.demonstrations, directory)

    def train(place: str, stages: Mapping[str, StageConfig], *, start: Path | None = base) -> Path:
        policy = PolicyConfig(model=config.model) if start is None else PolicyConfig(checkpoint=start)
        settings = TrainConfig(
            seed=seed,
            threads=config.threads,
            device=config.device,
            world=(material.world,),
            policy=policy,
            stages=stages,
            trackers=("jsonl",),
        )
        run(plan_run(settings, bar=bar), directory / place, bar=bar, say=say)
        return directory / place

    def measure(name: str, checkpoint: Path, progress: StageProgress | None = None) -> MeasuredPolicy:
        policy = load_policy(checkpoint)
        evaluations: dict[float, Evaluation] = {}
        first: list[Episode] = []
        for temperature in config.temperatures:
            evaluations[temperature], episodes = evaluate_policy(
                policy,
                material,
                config.expert,
                directory / f"evaluation-{name}-{temperature:g}",
                samples=config.samples if temperature else 1,
                name=f"seed {seed}, {name}, temperature {temperature:g}",
                temperature=temperature,
                bar=bar,
                say=say,
            )
            first = first or episodes
        return MeasuredPolicy(
            policy=policy,
            progress=progress or read_progress(checkpoint),
            evaluations=evaluations,
            episodes=first,
        )

    parts: dict[str, MeasuredPolicy] = {}
    if base is not None:
        parts[BASE] = measure(BASE, base, StageProgress(config=""))

    stages: dict[str, StageConfig] = {
        "sft": replace(config.sft, demonstrations=few),
        "expert": replace(config.expert, demonstrations=few),
        "grpo": config.grpo,
    }
    trained = train("run", stages)
    checkpoints = {stage: trained / stage / "checkpoint" for stage in stages}
    parts |= {name: measure(name, checkpoints[stage]) for stage, name in STAGES.items()}
    if config.controls:
        many = write_demonstrations(material, _FURTHER * config.demonstrations, directory)
        for control in _controls(config, parts, few, many):
            start = checkpoints["sft"] if control.continues else base
            folder = train(control.name, {control.stage: control.config}, start=start)
            parts[control.name] = measure(control.name, folder / control.stage / "checkpoint")
    return LearningResult(seed=seed, parts=parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Control:
    """A run that gets as much as the stages after the warm start, and does something plainer with it."""

    name: str
    stage: str
    config: StageConfig
    continues: bool = True
    """Whether it begins with the warm start; otherwise with what the run begins with."""


def _controls(
    config: LearningConfig, parts: Mapping[str, MeasuredPolicy], few: Path, many: Path
) -> tuple[_Control, ...]:
    """The controls. The first two get the processor time of the other run.

    Rejection sampling gets expert iteration's rollouts and optimiser steps, but no round learns from another.
    """
    warm, *later = (parts[name].progress.cpu_seconds for name in STAGES.values())
    steps = replace(config.sft, demonstrations=few, cpu_seconds=sum(later))
    more = replace(config.sft, demonstrations=many, cpu_seconds=warm + sum(later))
    expert = config.expert
    rejection = RejectionConfig(
        rounds=expert.steps,
        steps=expert.steps * expert.updates,
        batch=expert.batch,
        demonstration_share=expert.demonstration_share,
        demonstrations=few,
        keep=expert.keep,
        learner=expert.learner,
        group_size=expert.group_size,
        choice=expert.choice,
        limits=replace(expert.limits, staleness=0, window=0),
        rule=expert.rule,
        play=expert.play,
        pool=expert.pool,
        engine=expert.engine,
    )
    return (
        _Control(name="more-steps", stage="sft", config=steps),
        _Control(name="more-demonstrations", stage="sft", config=more, continues=False),
        _Control(name="rejection-sampling", stage="rejection", config=rejection),
    )
