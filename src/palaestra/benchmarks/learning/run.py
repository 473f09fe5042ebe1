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
    sft: SftConfig = field(default_factory=lambda: SftConfig(steps=1000))
    expert: ExpertConfig = field(
        default_factory=lambda: ExpertConfig(
            steps=12,
            updates=60,
            demonstration_share=0.3,
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
    training = _Training(material, config, seed=seed, directory=directory, bar=bar, say=say)
    parts = training.learn_by_stages()
    for control in CONTROLS if config.controls else ():
        parts[control] = training.learn_control(control, parts)
    return LearningResult(seed=seed, parts=parts)


def learn_control(
    material: LearningMaterial,
    config: LearningConfig,
    control: str,
    *,
    seed: int,
    directory: Path,
    bar: OpenProgressBar,
    say: Callable[[str], None],
) -> MeasuredPolicy:
    """Train and evaluate one control with one seed, after the stages, going on from what `directory` holds.

    Args:
        material: See `learn`.
        config: See `learn`.
        control: One of `CONTROLS`.
        seed: See `learn`.
        directory: See `learn`.
        bar: Opens a progress bar.
        say: Told where the run goes on from.

    Raises:
        PalaestraError: see `learn`.
    """
    training = _Training(material, config, seed=seed, directory=directory, bar=bar, say=say)
    return training.learn_control(control, training.learn_by_stages())


class _Training:
    """What is trained and evaluated with one seed."""

    def __init__(
        self,
        material: LearningMaterial,
        config: LearningConfig,
        *,
        seed: int,
        directory: Path,
        bar: OpenProgressBar,
        say: Callable[[str], None],
    ) -> None:
        self._material = material
        self._config = config
        self._seed = seed
        self._directory = directory
        self._bar = bar
        self._say = say
        self._base = None if config.base is None else find_base(config.base)

    def learn_by_stages(self) -> dict[str, MeasuredPolicy]:
        """The base if there is one, and what each stage comes to."""
        few = write_demonstrations(self._material, self._config.demonstrations, self._directory)
        parts: dict[str, MeasuredPolicy] = {}
        if self._base is not None:
            parts[BASE] = self._measure(BASE, self._base, StageProgress(config=""))
        stages: dict[str, StageConfig] = {
            "sft": replace(self._config.sft, demonstrations=few),
            "expert": replace(self._config.expert, demonstrations=few),
            "grpo": self._config.grpo,
        }
        folder = self._train("run", stages, start=self._base)
        return parts | {name: self._measure(name, folder / stage / "checkpoint") for stage, name in STAGES.items()}

    def learn_control(self, name: str, parts: Mapping[str, MeasuredPolicy]) -> MeasuredPolicy:
        """What a control comes to; `parts` are the policies of the stages."""
        few = write_demonstrations(self._material, self._config.demonstrations, self._directory)
        control = _CONTROLS[name]
        if control.stage == "rejection":
            stage: StageConfig = _rejection(self._config, few)
        else:
            stage = self._supervised(control, parts, few)
        start = self._directory / "run" / "sft" / "checkpoint" if control.continues else self._base
        folder = self._train(name, {control.stage: stage}, start=start)
        return self._measure(name, folder / control.stage / "checkpoint")

    def _supervised(self, control: "_Control", parts: Mapping[str, MeasuredPolicy], few: Path) -> SftConfig:
        """Supervised steps for the processor time of the stages, less the warm start's where it goes on from that."""
        warm, *later = (parts[name].progress.cpu_seconds for name in STAGES.values())
        shown = few
        if control.times > 1:
            count = control.times * self._config.demonstrations
            shown = write_demonstrations(self._material, count, self._directory)
        seconds = sum(later) if control.continues else warm + sum(later)
        return replace(self._config.sft, demonstrations=shown, cpu_seconds=seconds)

    def _train(self, place: str, stages: Mapping[str, StageConfig], *, start: Path | None) -> Path:
        policy = PolicyConfig(model=self._config.model) if start is None else PolicyConfig(checkpoint=start)
        settings = TrainConfig(
            seed=self._seed,
            threads=self._config.threads,
            device=self._config.device,
            world=(self._material.world,),
            policy=policy,
            stages=stages,
            trackers=("jsonl",),
        )
        folder = self._directory / place
        run(plan_run(settings, bar=self._bar), folder, bar=self._bar, say=self._say)
        return folder

    def _measure(self, name: str, checkpoint: Path, progress: StageProgress | None = None) -> MeasuredPolicy:
        policy = load_policy(checkpoint)
        evaluations: dict[float, Evaluation] = {}
        first: list[Episode] = []
        for temperature in self._config.temperatures:
            evaluations[temperature], episodes = evaluate_policy(
                policy,
                self._material,
                self._config.expert,
                self._directory / f"evaluation-{name}-{temperature:g}",
                samples=self._config.samples if temperature else 1,
                name=f"seed {self._seed}, {name}, temperature {temperature:g}",
                temperature=temperature,
                bar=self._bar,
                say=self._say,
            )
            first = first or episodes
        return MeasuredPolicy(
            policy=policy,
            progress=progress or read_progress(checkpoint),
            evaluations=evaluations,
            episodes=first,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Control:
    """A run that gets as much as the stages after the warm start, and does something plainer with it."""

    stage: str
    continues: bool = True
    """Whether it begins with the warm start; otherwise with what the run begins with."""
    times: int = 1
    """As many demonstrations as the warm start has, times this."""


_CONTROLS: Mapping[str, _Control] = {
    "more-steps": _Control(stage="sft"),
    "more-demonstrations": _Control(stage="sft", continues=False, times=_FURTHER),
    "rejection-sampling": _Control(stage="rejection"),
}
CONTROLS = tuple(_CONTROLS)
"""The names of the controls. The first two get the processor time of the stages."""


def _rejection(config: LearningConfig, few: Path) -> RejectionConfig:
    """Rejection sampling with expert iteration's rollouts and optimiser steps; no round learns from another."""
    expert = config.expert
    return RejectionConfig(
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
