"""The settings of all stages that learn from groups of rollouts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from palaestra.trainers.branching import GrpoBranchingConfig
from palaestra.trainers.choice import ChoiceConfig
from palaestra.trainers.critic import CriticConfig
from palaestra.trainers.engines.engine import InFlight
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.replicas import ReplicasConfig
from palaestra.trainers.engines.vllm import VllmConfig
from palaestra.trainers.fillers import SHOWN, ChosenFiller, choose_fillers, needs_of
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.limits import check_above_zero, check_at_least
from palaestra.trainers.loops.branching_parts import check_branching
from palaestra.trainers.loops.compared import comparing_parts
from palaestra.trainers.loops.engine_processes import check_processor_time, check_replicas, check_vllm
from palaestra.trainers.loops.invariance import check_invariance
from palaestra.trainers.loops.rollout_precision import check_four_bits, check_rollout_precision
from palaestra.trainers.loops.saves import SaveConfig
from palaestra.trainers.loops.temperatures import check_temperature_head
from palaestra.trainers.loops.weight_noise import WeightNoiseConfig, check_weight_noise
from palaestra.trainers.monitors import AlarmConfig
from palaestra.trainers.objectives import BuiltObjective, ObjectiveConfig, corrects_stale
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.groups import GroupRule
from palaestra.trainers.rollouts.pool import PoolConfig
from palaestra.trainers.rollouts.staleness import Staleness


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStageConfig:
    """How groups of trajectories are sampled. With a staleness of 0, a stage is synchronous: the same code, waiting."""

    group_size: int = 8
    """Trajectories of each task."""
    choice: ChoiceConfig = field(default_factory=ChoiceConfig)
    """How the task of each group is chosen."""
    limits: Staleness = field(default_factory=lambda: Staleness(per_step=16))
    """Groups per step, and how far rollouts may run ahead of training."""
    rule: GroupRule = field(default_factory=GroupRule)
    """How incomplete groups are handled."""
    patience: float | None = 600.0
    """Seconds within which some trajectory must end; otherwise the run stops with an error that says who waited for
    what."""
    play: PlayConfig = field(default_factory=lambda: PlayConfig(context=768, turn=48))
    pool: PoolConfig = field(default_factory=PoolConfig)
    engine: NativeConfig = field(default_factory=NativeConfig)
    replicas: ReplicasConfig | None = None
    """Samples with several engines with the settings of `engine`, each in its own process. Default: one engine in this
    process."""
    vllm: VllmConfig | None = None
    """Samples with vLLM instead of the native engine; such a run cannot be replayed."""
    in_flight: InFlight | Literal["drain"] = "keep"
    """What new weights do to running turns. With "drain" no turn is running then: a step first waits for every group
    that may begin, so rollouts are exactly `limits.staleness` versions old (fewer in the first steps), and no work
    overlaps with training."""
    save: SaveConfig = field(default_factory=SaveConfig)
    """When to save; rollouts since a save are recorded and not lost."""

    def check_rollouts(self) -> None:
        """Refuse settings that no stage can use.

        Raises:
            ValueError: a setting breaks a rule; the message names the setting, the rule and what to do.
        """
        check_at_least(1, group_size=self.group_size)
        check_above_zero(patience=self.patience)
        if not self.play.temperature:
            raise ValueError(
                f"play.temperature={self.play.temperature}: the trajectories of a group would be alike, and nothing "
                "could be learnt from them; train with 1, and evaluate with 0"
            )
        if self.vllm is not None:
            check_vllm(self.engine)
        if self.replicas is not None:
            check_replicas(self.replicas, self.engine, vllm=self.vllm is not None)
        if self.in_flight == "drain" and self.limits.window:
            raise ValueError(
                f'in_flight="drain", limits.window={self.limits.window}: a step waits for every group, so none is '
                "overtaken; leave the window out"
            )
        if self.rule.kind == "partial" and max(self.rule.minimum, self.rule.enough or 1) > self.group_size:
            raise ValueError(
                f"rule.minimum={self.rule.minimum}, rule.enough={self.rule.enough}, group_size={self.group_size}: a "
                "group has no more trajectories than group_size; lower the two, or raise it"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpoConfig(GroupStageConfig):
    """Policy gradient on groups of rollouts, with any preset of objectives."""

    steps: int = 16
    """Batches of rollouts to train on."""
    tokens: int | None = None
    """Sampled tokens after which the stage ends, instead of `steps`: for fair comparisons."""
    cpu_seconds: float | None = None
    """Processor seconds; the stage ends with the step that reaches them, instead of `steps`: for comparisons at equal
    time."""
    updates: int = 2
    """Optimiser steps on each batch; clipping has an effect only with more than one."""
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    columns: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fillers of the columns that the objective reads, by column: a filler's name, or a table with `filler` and its
    settings. They override those of the preset."""
    learner: LearnerConfig = field(default_factory=lambda: LearnerConfig(lr=2e-4, layout="shared"))
    critic: CriticConfig = field(default_factory=CriticConfig)
    """The critic, for objectives that compare returns with expected values."""
    branching: GrpoBranchingConfig | None = None
    """Continues groups that solved nothing from the middle of their trajectories, and trains on the continuations too.
    Default: no branching."""
    weight_noise: WeightNoiseConfig | None = None
    """Noise on the weights that sample rollouts. Default: no noise."""
    alarms: AlarmConfig = field(default_factory=AlarmConfig)
    probe: int = 0
    """Steps between measurements of whether first turns still depend on their tasks (`collapse/...`); 0 for never."""
    probe_prompts: int = 8
    """Maximum tasks of such a measurement, which combines every first turn with every prompt."""

    def __post_init__(self) -> None:
        check_at_least(1, steps=self.steps, tokens=self.tokens, updates=self.updates)
        check_above_zero(cpu_seconds=self.cpu_seconds)
        check_processor_time(self.cpu_seconds, replicas=self.replicas, vllm=self.vllm)
        if self.tokens is not None and self.cpu_seconds is not None:
            raise ValueError(
                f"tokens={self.tokens}, cpu_seconds={self.cpu_seconds:g}: each is an end of the stage in place of the "
                "other; give one of them"
            )
        self.check_rollouts()
        if self.play.top_p != 1:
            raise ValueError(
                f"play.top_p={self.play.top_p}: the learner scores tokens under the whole distribution, so ratios "
                "would be wrong; train with 1, and use a lower value only in evaluation"
            )
        if self.probe < 0 or self.probe_prompts < 2:
            raise ValueError(
                f"probe={self.probe}, probe_prompts={self.probe_prompts}: a probe is every so many steps, 0 for never, "
                "and compares 2 tasks or more"
            )
        built = self.objective.build()
        if self.group_size == 1 and (comparing := comparing_parts(built)):
            raise ValueError(
                f"group_size=1: the objective compares the trajectories of a group ({', '.join(comparing)}), and a "
                "group of one gives no gradient; give 2 or more, or an objective with a critic or a whitened return"
            )
        if built.critic is not None and self.tokens is self.cpu_seconds is None and self.critic.lead >= self.steps:
            raise ValueError(
                f"critic.lead={self.critic.lead}, steps={self.steps}: the policy is never trained; take more steps"
            )
        if built.critic is not None and self.critic.unit and built.returns and self.critic.unit != built.returns:
            raise ValueError(
                f"critic.unit={self.critic.unit:g}: rewards are converted before the critic sees them, so that a "
                f"solved task returns {built.returns:g}; leave it out, or say `objective.parts.unit` too"
            )
        if self.limits.bound and not corrects_stale(built.recipe):
            raise ValueError(
                f"limits: groups are up to {self.limits.bound} versions old, and nothing in the objective corrects for "
                'weights that are not those that drew the tokens; take objective.parts.ratio = { anchor = "rollout" } '
                'with a trust region that reads ratios, or objective.parts.corrections = ["token-tis"] with '
                'ratio.anchor = "old", or limits.staleness = 0'
            )
        check_temperature_head(
            built, temperature=self.play.temperature, lora=self.learner.lora is not None, vllm=self.vllm is not None
        )
        check_invariance(
            self.engine,
            self.learner,
            vllm=self.vllm is not None,
            temperature_head=built.temperature is not None,
        )
        check_four_bits(self.engine, self.learner, vllm=self.vllm is not None)
        corrects = corrects_stale(built.recipe)
        check_rollout_precision(self.engine, self.learner, vllm=self.vllm, corrects=corrects)
        if self.weight_noise is not None:
            steps = self.steps if self.tokens is self.cpu_seconds is None else None
            check_weight_noise(self.weight_noise, steps=steps, corrects=corrects, invariant=self.engine.invariant)
        fillers = self.fillers(built)
        if self.branching is not None:
            check_branching(built, fillers)
        shown = needs_of(fillers) & SHOWN
        if shown and self.choice.instances == "endless":
            raise ValueError(
                'choice.instances="endless": fillers of columns read a demonstration of each task, and there are some '
                'of listed tasks only; take "listed"'
            )

    def fillers(self, built: BuiltObjective) -> tuple[ChosenFiller, ...]:
        """The fillers of the columns that neither rollouts nor passes provide.

        Raises:
            ConfigError: a column has no filler, or settings of fillers are invalid.
        """
        return choose_fillers(built, self.columns, defaults=self.objective.columns())
