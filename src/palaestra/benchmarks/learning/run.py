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
_RUN = "run"
"""The folder of the run that trains the stages."""
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
            steps=45,
            objective=ObjectiveConfig(parts={"rewards": ["solved"]}),
            # Of listed tasks most were demonstrated: every member of most groups solves them, and nothing is compared.
            choice=ChoiceConfig(rule="bandit", instances="endless"),
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
    threads: int = 1
    """Of the arithmetic of each process; the last bits of a sum, and so of a policy, depend on it."""

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
    """What is trained and evaluated with one seed. Each part goes on from what the folder holds.

    Args:
        material: What is learnt from and measured on.
        config: How.
        seed: The seed.
        directory: Its folder.
        bar: Opens a progress bar.
        say: Told where a part goes on from.

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
        """Train the stages, one after the other."""
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
        """Where a policy lies: the base, that of a stage, or that of a control."""
        if name == BASE:
            assert self._base is not None, "a run without a base has no policy of that name"
            return self._base
        if name in _CONTROLS:
            return self._directory / name / _CONTROLS[name].stage / "checkpoint"
        return self._directory / _RUN / stage_of(name) / "checkpoint"

    def measure(self, name: str) -> MeasuredPolicy:
        """How a policy does at every temperature."""
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
        """How a policy does at one temperature, and of each task the first episode."""
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
        """The policies of stages that are over, as the folders of the run tell while another process trains them."""
        folders = [self._directory / _RUN / stage for stage in STAGES]
        return tuple(name for name, after in zip(STAGES.values(), folders[1:], strict=False) if after.exists())

    def _configure_supervised(self, control: "_Control", few: Path) -> SftConfig:
        """Supervised steps for the processor time of the stages, less the warm start's where it goes on from that."""
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


def stage_of(policy: str) -> str:
    """The stage of which a policy is the result."""
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
