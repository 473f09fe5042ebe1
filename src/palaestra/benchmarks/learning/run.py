"""One training run, and evaluations of each of its policies on tasks that it never saw.

The run has a warm start from few demonstrations, expert iteration, and a short policy gradient with rewards only for
solved tasks; on request also controls with equal resources. Stages are those of `palaestra train`. A run starts from
fresh weights, or from a pretrained base, which is evaluated as well. Every part is saved when it is done, and stages
also while they run.
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
"""The names of the policies that the stages train."""
BASE = "base"
"""The name of the pretrained policy that a run starts from."""
_RUN = "run"
"""The folder of the run that trains the stages."""
_FURTHER = 3
"""The factor of demonstrations in the control that has more of them."""


def _rollouts() -> PoolConfig:
    return PoolConfig(agents=128)


def _play() -> PlayConfig:
    return PlayConfig(context=1024, turn=72)


def _engine() -> NativeConfig:
    return NativeConfig(rows=128)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningConfig:
    """The settings of one training run and its evaluations."""

    model: ModelConfig = field(default_factory=ModelConfig)
    """The model of a fresh policy, which uses the format `compact`."""
    base: str | None = None
    """The name of a pretrained model or the folder of a checkpoint, as the start instead of a fresh `model`."""
    families: int | None = None
    """Maximum number of training families; by default all families that the world names for the demo."""
    heldout: int | None = None
    """Maximum number of held-out tasks of each family in each group; by default all."""
    device: str = "cpu"
    """The device of training: "auto" (CUDA where available), or a device name of torch."""
    demonstrations: int = 20
    """Demonstrations of each family, for the warm start and for mixing into later stages."""
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
    """Expert iteration; its rollout limits also apply to evaluations."""
    grpo: GrpoConfig = field(
        default_factory=lambda: GrpoConfig(
            steps=45,
            objective=ObjectiveConfig(parts={"rewards": ["solved"]}),
            # Most listed tasks were demonstrated: in most groups every member would solve them, so there would be no
            # differences.
            choice=ChoiceConfig(rule="bandit", instances="endless"),
            play=_play(),
            pool=_rollouts(),
            engine=_engine(),
        )
    )
    controls: bool = False
    """Whether controls are trained as well."""
    samples: int = 4
    """Episodes of each held-out task in each evaluation."""
    temperatures: tuple[float, ...] = (1.0, 0.3, 0.0)
    """Temperatures of the evaluations of each policy; at 0 each task has one episode, because all would be equal."""
    threads: int = 1
    """Number of arithmetic threads of each process; the last bits of sums, and so of a policy, depend on it."""

    @property
    def most_demonstrations(self) -> int:
        """Maximum number of demonstrations that are needed per family."""
        return self.demonstrations * (_FURTHER if self.controls else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPolicy:
    """A policy and its results."""

    policy: Policy
    progress: StageProgress
    """The progress of the stage that trained the policy."""
    evaluations: Mapping[float, Evaluation]
    """Evaluations by temperature."""
    episodes: Sequence[Episode]
    """The first episode of each task, at the first temperature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningResult:
    """The results of one training run."""

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
    """Train and evaluate with one seed, resuming from the files in `directory`.

    Raises:
        CheckpointError: the folder's files have other settings, or are damaged.
        ConfigError: the base is not installed.
        UnknownNameError: no such base exists.
        StorageError: the disk refuses a write; the last save stays.
    """
    training = Training(material, config, seed=seed, directory=directory, bar=bar, say=say)
    parts: dict[str, MeasuredPolicy] = {}
    if config.base is not None:
        parts[BASE] = training.measure(BASE)
    training.train_stages()
    parts |= {name: training.measure(name) for name in STAGES.values()}
    for control in CONTROLS if config.controls else ():
        training.train_control(control)
        parts[control] = training.measure(control)
    return LearningResult(seed=seed, parts=parts)


class Training:
    """The training and evaluation with one seed. Each part resumes from the files in the folder.

    Args:
        material: The training and test material.
        config: The settings.
        seed: The training seed.
        directory: The folder of the seed.
        bar: Opens a progress bar.
        say: Receives a message where a part resumes.

    Raises:
        ConfigError: the base is not installed.
        UnknownNameError: no such base exists.
    """

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

    def train_stages(self) -> None:
        """Train the stages, one after another."""
        few = write_demonstrations(self._material, self._config.demonstrations, self._directory)
        stages: dict[str, StageConfig] = {
            "sft": replace(self._config.sft, demonstrations=few),
            "expert": replace(self._config.expert, demonstrations=few),
            "grpo": self._config.grpo,
        }
        self._train(_RUN, stages, start=self._base)

    def train_control(self, name: str) -> None:
        """Train a control, after the stages."""
        few = write_demonstrations(self._material, self._config.demonstrations, self._directory)
        control = _CONTROLS[name]
        if control.stage == "rejection":
            rounds = read_progress(self.checkpoint(STAGES["expert"])).step
            stage: StageConfig = _rejection(self._config.expert, few, rounds)
        else:
            stage = self._configure_supervised(control, few)
        start = self.checkpoint("warm-start") if control.continues else self._base
        self._train(name, {control.stage: stage}, start=start)

    def checkpoint(self, name: str) -> Path:
        """The checkpoint of a policy: the base, the result of a stage, or a control."""
        if name == BASE:
            assert self._base is not None, "a run without a base has no policy of that name"
            return self._base
        if name in _CONTROLS:
            return self._directory / name / _CONTROLS[name].stage / "checkpoint"
        return self._directory / _RUN / stage_of(name) / "checkpoint"

    def measure(self, name: str) -> MeasuredPolicy:
        """Evaluate a policy at all temperatures."""
        evaluations: dict[float, Evaluation] = {}
        first: list[Episode] = []
        for temperature in self._config.temperatures:
            evaluations[temperature], episodes = self.measure_at(name, temperature)
            first = first or episodes
        checkpoint = self.checkpoint(name)
        return MeasuredPolicy(
            policy=load_policy(checkpoint),
            progress=StageProgress(config="") if name == BASE else read_progress(checkpoint),
            evaluations=evaluations,
            episodes=first,
        )

    def measure_at(self, name: str, temperature: float) -> tuple[Evaluation, list[Episode]]:
        """Evaluate a policy at one temperature; return the evaluation and the first episode of each task."""
        return evaluate_policy(
            load_policy(self.checkpoint(name)),
            self._material,
            self._config.expert,
            self._directory / f"evaluation-{name}-{temperature:g}",
            samples=self._config.samples if temperature else 1,
            name=f"seed {self._seed}, {name}, temperature {temperature:g}",
            temperature=temperature,
            bar=self._bar,
            say=self._say,
        )

    def finished_policies(self) -> tuple[str, ...]:
        """The policies of finished stages, by the folders of the run, while another process trains later stages."""
        folders = [self._directory / _RUN / stage for stage in STAGES]
        return tuple(name for name, after in zip(STAGES.values(), folders[1:], strict=False) if after.exists())

    def _configure_supervised(self, control: "_Control", few: Path) -> SftConfig:
        """Supervised steps for the time of all stages, or only of the later ones if they continue the warm start."""
        warm, *later = (read_progress(self.checkpoint(name)).cpu_seconds for name in STAGES.values())
        shown = few
        if control.times > 1:
            count = control.times * self._config.demonstrations
            shown = write_demonstrations(self._material, count, self._directory)
        seconds = sum(later) if control.continues else warm + sum(later)
        return replace(self._config.sft, demonstrations=shown, cpu_seconds=seconds)

    def _train(self, place: str, stages: Mapping[str, StageConfig], *, start: Path | None) -> None:
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
        run(plan_run(settings, bar=self._bar), self._directory / place, bar=self._bar, say=self._say)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Control:
    """A run with the resources of the stages after the warm start, and a simpler method."""

    stage: str
    continues: bool = True
    """Whether it starts from the warm start; otherwise it starts where the run does."""
    times: int = 1
    """The factor of demonstrations, relative to the warm start."""


_CONTROLS: Mapping[str, _Control] = {
    "more-steps": _Control(stage="sft"),
    "more-demonstrations": _Control(stage="sft", continues=False, times=_FURTHER),
    "rejection-sampling": _Control(stage="rejection"),
}
CONTROLS = tuple(_CONTROLS)
"""The names of the controls. The first two get the processor time of the stages."""


def stage_of(policy: str) -> str:
    """The stage that trained a policy."""
    return next(stage for stage, name in STAGES.items() if name == policy)


def _rejection(expert: ExpertConfig, few: Path, rounds: int) -> RejectionConfig:
    """Rejection sampling with expert iteration's rollouts and optimiser steps; no round learns from another.

    Args:
        expert: The settings of expert iteration.
        few: The file of demonstrations.
        rounds: How many it took.
    """
    return RejectionConfig(
        rounds=rounds,
        steps=rounds * expert.updates,
        batch=expert.batch,
        demonstration_share=expert.demonstration_share,
        demonstrations=few,
        keep=expert.keep,
        learner=expert.learner,
        group_size=expert.group_size,
        choice=expert.choice,
        limits=replace(expert.limits, staleness=0, window=0),
        rule=expert.rule,
        patience=expert.patience,
        play=expert.play,
        pool=expert.pool,
        engine=expert.engine,
    )
