"""The settings of stages that imitate demonstrations, or the policy's own solutions."""

from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Literal

from palaestra.trainers.branching import BranchingConfig
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.limits import check_above_zero, check_at_least
from palaestra.trainers.loops.engine_processes import check_processor_time
from palaestra.trainers.loops.invariance import check_invariance
from palaestra.trainers.loops.rollout_config import GroupStageConfig
from palaestra.trainers.loops.rollout_precision import check_four_bits
from palaestra.trainers.loops.saves import SaveConfig
from palaestra.trainers.monitors import RolloutAlarmConfig
from palaestra.trainers.rollouts.pool import PoolConfig
from palaestra.trainers.rollouts.staleness import Staleness


@dataclass(frozen=True, slots=True, kw_only=True)
class SftConfig:
    """Supervised learning from demonstrations."""

    steps: int = 400
    cpu_seconds: float | None = None
    """Processor seconds after which the stage ends, instead of `steps`: for controls with the time of another run."""
    batch: int = 8
    """Demonstrations per step."""
    demonstrations: Path | None = None
    """A file of episodes, JSON lines or Parquet. Default: episodes of the tasks' oracle."""
    warmup_steps: int = 20
    """Steps over which the learning rate rises; afterwards it falls linearly to a tenth."""
    learner: LearnerConfig = field(default_factory=lambda: LearnerConfig(lr=3e-3))
    save: SaveConfig = field(default_factory=lambda: SaveConfig(every=25))

    def __post_init__(self) -> None:
        check_at_least(1, steps=self.steps, batch=self.batch)
        check_at_least(0, warmup_steps=self.warmup_steps)
        check_above_zero(cpu_seconds=self.cpu_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepConfig:
    """Which of the policy's own episodes to imitate."""

    per_task: int = 2
    """Maximum episodes of a task; newer ones replace older ones."""
    per_family: int = 80
    """Maximum episodes of a family; `order` decides which are dropped first."""
    order: Literal["newest", "surprising"] = "newest"
    """What a full family keeps: the newest solutions, or those of groups whose solve rate differed most from the
    expectation of the partition function of `choice.rule = "paced"` (arXiv:2602.12642). Beginnings are dropped
    first."""
    prefixes: bool = True
    """Whether to keep the best member of a group that solved nothing, up to its best points before any harm."""

    def __post_init__(self) -> None:
        check_at_least(1, per_task=self.per_task, per_family=self.per_family)
        if self.per_family < self.per_task:
            raise ValueError(
                f"per_family={self.per_family}, per_task={self.per_task}: a family holds no fewer episodes than one of "
                "its tasks; raise per_family"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfImitationConfig(GroupStageConfig):
    """Imitation of the policy's own solutions, beside demonstrations."""

    batch: int = 14
    """Sequences per optimiser step, spread evenly over families."""
    demonstration_share: float = 0.15
    """The minimum share of demonstrations in a batch; 0 for none."""
    demonstrations: Path | None = None
    """A file of episodes, JSON lines or Parquet. Default: episodes of the tasks' oracle."""
    keep: KeepConfig = field(default_factory=KeepConfig)
    branching: BranchingConfig | None = None
    """Continues groups that solved nothing from the middle of their trajectories. Default: no branching."""
    learner: LearnerConfig = field(default_factory=lambda: LearnerConfig(lr=1.5e-3))
    """The learning rate falls linearly to a tenth: within each round if imitation follows each round, so that rollouts
    use settled weights, and over the whole stage if imitation follows all rounds."""

    @property
    def demonstrations_per_batch(self) -> int:
        """The minimum number of demonstrations in a batch."""
        return ceil(self.demonstration_share * self.batch - 1e-9)

    def check_imitation(self) -> None:
        """Refuse settings that no such stage can use.

        Raises:
            ValueError: a setting breaks a rule; the message names the setting, the rule and what to do.
        """
        self.check_rollouts()
        check_four_bits(self.engine, self.learner, vllm=self.vllm is not None)
        check_invariance(self.engine, self.learner, vllm=self.vllm is not None, temperature_head=False)
        check_at_least(1, batch=self.batch)
        if self.keep.order == "surprising" and self.choice.rule != "paced":
            raise ValueError(
                f'keep.order="surprising", choice.rule={self.choice.rule!r}: the solve rate is expected by the rule '
                '"paced" alone; take that rule, or leave keep.order out'
            )
        if not 0 <= self.demonstration_share < 1:
            raise ValueError(
                f"demonstration_share={self.demonstration_share}: a share of the batch, from 0 to below 1; for "
                "demonstrations alone take a stage [sft]"
            )
        if self.demonstrations_per_batch >= self.batch:
            raise ValueError(
                f"demonstration_share={self.demonstration_share}, batch={self.batch}: the policy's own episodes "
                "would have no place; raise batch, or lower demonstration_share"
            )
        if self.demonstrations is not None and not self.demonstration_share:
            raise ValueError(
                f"demonstrations={str(self.demonstrations)!r}: with demonstration_share=0 they are not used; "
                "leave them out"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertConfig(SelfImitationConfig):
    """Expert iteration (arXiv:1705.08439): rounds of rollouts, each followed by imitation of all solutions so far."""

    steps: int = 15
    """Rounds."""
    cpu_seconds: float | None = None
    """Processor seconds; the stage ends with the round that reaches them, instead of `steps`: for comparisons at equal
    time."""
    updates: int = 30
    """Optimiser steps per round."""
    group_size: int = 4
    """Trajectories of each task."""
    limits: Staleness = field(default_factory=lambda: Staleness(per_step=42))
    """Groups per round, and how far rollouts may run ahead of training."""
    pool: PoolConfig = field(default_factory=lambda: PoolConfig(agents=128))
    alarms: RolloutAlarmConfig = field(default_factory=lambda: RolloutAlarmConfig(window=4))
    """A round has more episodes than a batch of a policy gradient, so fewer are usual."""

    def __post_init__(self) -> None:
        check_at_least(1, steps=self.steps, updates=self.updates)
        check_above_zero(cpu_seconds=self.cpu_seconds)
        check_processor_time(self.cpu_seconds, replicas=self.replicas, vllm=self.vllm)
        self.check_imitation()


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionConfig(SelfImitationConfig):
    """Rejection sampling: the stage samples the policy that it begins with, and imitates its solutions."""

    rounds: int = 4
    """Rounds of rollouts, all before the first optimiser step."""
    steps: int = 120
    """Optimiser steps after the rollouts."""
    group_size: int = 4
    """Trajectories of each task."""
    limits: Staleness = field(default_factory=lambda: Staleness(per_step=42))
    """Groups per round."""
    pool: PoolConfig = field(default_factory=lambda: PoolConfig(agents=128))
    save: SaveConfig = field(default_factory=lambda: SaveConfig(every=25))

    def __post_init__(self) -> None:
        check_at_least(1, rounds=self.rounds, steps=self.steps)
        self.check_imitation()
        if self.limits.staleness or self.limits.window:
            raise ValueError(
                f"limits.staleness={self.limits.staleness}, limits.window={self.limits.window}: all rounds are drawn "
                "by the same weights, so nothing is stale; leave them out"
            )
        if self.in_flight != "keep":
            raise ValueError(f"in_flight={self.in_flight!r}: no new weights come while turns are drawn; leave it out")
