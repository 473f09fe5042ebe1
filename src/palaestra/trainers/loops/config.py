"""The settings of a training run: typed, and refused where they make no sense.

Each part's settings are the frozen dataclass that the part itself is built from, so a setting cannot exist without
somebody who reads it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from palaestra.packs import DEFAULT, PACKS
from palaestra.trainers.critic import CriticConfig
from palaestra.trainers.device import AUTO
from palaestra.trainers.engines.engine import InFlight
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.vllm import VllmConfig
from palaestra.trainers.fillers import ChosenFiller, choose_fillers
from palaestra.trainers.learner import LearnerConfig
from palaestra.trainers.limits import check_above_zero, check_at_least
from palaestra.trainers.loops.compared import comparing_parts
from palaestra.trainers.loops.saves import SaveConfig
from palaestra.trainers.loops.temperatures import check_temperature_head
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.monitors import AlarmConfig
from palaestra.trainers.objectives import BuiltObjective, ObjectiveConfig, corrects_stale
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.groups import GroupRule
from palaestra.trainers.rollouts.pool import PoolConfig
from palaestra.trainers.rollouts.staleness import Staleness
from palaestra.trainers.rollouts.worlds import Timeouts

_NAME = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)
_NO_SWITCHES = {
    "env_id": "give world.env_id or world.pack",
    "place": "give world.pack",
    "split": "give world.split",
    "task": "give world.families",
    "action_format": "it follows from policy.format",
}
"""What `gymnasium.make` takes and a run decides by other settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldConfig:
    """One world that is learnt in."""

    env_id: str | None = None
    """The environment, as `gymnasium.make` knows it, or a world's id; the default world's where there is no `pack`."""
    pack: Path | None = None
    """The folder of a world pack in place of `env_id`; its code is run."""
    name: str | None = None
    """Stands before the references of its tasks, `name:task`, where a run has one world twice with other switches."""
    weight: float = 1.0
    """Its share of the groups and demonstrations, relative to the run's other worlds."""
    split: str = "train"
    families: tuple[str, ...] = ()
    """The families to learn from, by name without the world's; all of the split's when there are none."""
    switches: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What `gymnasium.make` takes besides: task files, a surface, a handbook, noise."""
    imports: tuple[str, ...] = ()
    """Modules that register environments outside the package."""
    where: Literal["here", "processes", "ray"] = "here"
    """This process, worker processes, or Ray actors on any number of machines."""
    workers: int | None = None
    """Processes or actors; as many as there are processors when it is not said."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    """Seconds that a world in another process may take for its answers."""

    def __post_init__(self) -> None:
        if self.pack is not None and self.env_id is not None:
            raise ValueError(
                f"pack={str(self.pack)!r} and env_id={self.env_id!r}: both name the world; leave one of them out"
            )
        if self.pack is None and self.env_id is None:  # settings on the disk state their defaults
            object.__setattr__(self, "env_id", PACKS.find(DEFAULT).env_id)
        if self.name is not None and not _NAME.fullmatch(self.name):
            raise ValueError(f"name={self.name!r}: write letters, digits, hyphens and underscores")
        if not (isfinite(self.weight) and self.weight > 0):
            raise ValueError(
                f"weight={self.weight}: a weight is a number above 0; leave a world out that gets no share"
            )
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers={self.workers}: at least 1; leave it out for one per processor")
        for switch, instead in _NO_SWITCHES.items():
            if switch in self.switches:
                raise ValueError(f"switches.{switch}: it has no effect here; {instead}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A small decoder with fresh weights, of Qwen3's shape; its embeddings are tied."""

    hidden: int = 192
    layers: int = 2
    heads: int = 2
    kv_heads: int = 1
    head_dim: int = 64
    mlp: int = 576
    context: int = 2048
    """Tokens that a segment may have."""
    vocabulary: int = 5120
    """Tokens of the tokenizer, at most; it is learnt from the demonstrations."""

    def __post_init__(self) -> None:
        check_at_least(1, hidden=self.hidden, layers=self.layers, heads=self.heads, kv_heads=self.kv_heads)
        check_at_least(1, head_dim=self.head_dim, mlp=self.mlp, context=self.context, vocabulary=self.vocabulary)
        DecoderShape(
            **{one.name: getattr(self, one.name) for one in fields(self)}  # it has rules of its own for these
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConfig:
    """Who learns."""

    checkpoint: Path | None = None
    """A checkpoint in Hugging Face's layout; without one a fresh model is made."""
    format: str | None = None
    """The chat format, where the checkpoint does not say one; a fresh policy is `compact` unless told otherwise."""
    model: ModelConfig = field(default_factory=ModelConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class SftConfig:
    """Supervised learning from demonstrations."""

    steps: int = 400
    seconds: float | None = None
    """Ends it after so much time in place of `steps`: for controls that are given another run's time."""
    batch: int = 8
    """Demonstrations a step."""
    demonstrations: Path | None = None
    """A file of episodes, JSON lines or Parquet; without one the tasks' own oracle shows how."""
    warmup_steps: int = 20
    """Steps over which the learning rate rises; afterwards it falls, linearly, to a tenth."""
    learner: LearnerConfig = field(default_factory=lambda: LearnerConfig(lr=3e-3))
    save: SaveConfig = field(default_factory=lambda: SaveConfig(every=25))

    def __post_init__(self) -> None:
        check_at_least(1, steps=self.steps, batch=self.batch)
        check_at_least(0, warmup_steps=self.warmup_steps)
        check_above_zero(seconds=self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpoConfig:
    """Learning from groups of rollouts. With a staleness of 0 it is synchronous: the same code, waiting."""

    steps: int = 16
    """Batches of rollouts that are trained on."""
    tokens: int | None = None
    """Ends it after so many tokens of the policy's own in place of `steps`: for comparisons of like with like."""
    group_size: int = 8
    """Trajectories of each task."""
    updates: int = 2
    """Optimiser steps on each batch; with more than one, the clip has something to do."""
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    columns: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fillers of the columns that the objective reads, by column: a filler's name, or a table with `filler` and its
    settings. They go before those of the preset."""
    learner: LearnerConfig = field(default_factory=lambda: LearnerConfig(lr=2e-4, layout="shared"))
    critic: CriticConfig = field(default_factory=CriticConfig)
    """For objectives that compare what came with what was expected."""
    limits: Staleness = field(default_factory=lambda: Staleness(per_step=16))
    """Groups a step, and how far rollouts may run ahead of training."""
    rule: GroupRule = field(default_factory=GroupRule)
    """What becomes of incomplete groups."""
    patience: float | None = 600.0
    """Seconds in which some trajectory must end; otherwise the run stops and says who waited for what."""
    play: PlayConfig = field(default_factory=lambda: PlayConfig(context=768, turn=48))
    pool: PoolConfig = field(default_factory=PoolConfig)
    engine: NativeConfig = field(default_factory=NativeConfig)
    vllm: VllmConfig | None = None
    """Draws with vLLM in place of our own engine; such a run cannot be replayed."""
    in_flight: InFlight = "keep"
    """What new weights do to turns under way."""
    alarms: AlarmConfig = field(default_factory=AlarmConfig)
    probe: int = 0
    """Every how many steps it is measured whether first turns still depend on their tasks (`collapse/...`); 0 for
    never."""
    probe_prompts: int = 8
    """Tasks of a probe at most; it puts every first turn behind every prompt."""
    save: SaveConfig = field(default_factory=SaveConfig)
    """When it is saved; what was rolled out since a save is recorded, and not lost."""

    def __post_init__(self) -> None:
        check_at_least(1, steps=self.steps, tokens=self.tokens, group_size=self.group_size, updates=self.updates)
        check_above_zero(patience=self.patience)
        if self.play.top_p != 1:
            raise ValueError(
                f"play.top_p={self.play.top_p}: the learner scores tokens under the whole distribution, and ratios to "
                "those that drew them would be off; train with 1, and narrow it when you evaluate"
            )
        if self.probe < 0 or self.probe_prompts < 2:
            raise ValueError(
                f"probe={self.probe}, probe_prompts={self.probe_prompts}: a probe is every so many steps, 0 for never, "
                "and compares 2 tasks or more"
            )
        built = self.objective.built()
        if self.group_size == 1 and (comparing := comparing_parts(built)):
            raise ValueError(
                f"group_size=1: the objective compares the trajectories of a group ({', '.join(comparing)}), and a "
                "group of one gives no gradient; give 2 or more, or an objective with a critic or a whitened return"
            )
        if self.rule.kind == "partial" and max(self.rule.minimum, self.rule.enough or 1) > self.group_size:
            raise ValueError(
                f"rule.minimum={self.rule.minimum}, rule.enough={self.rule.enough}, group_size={self.group_size}: a "
                "group has no more trajectories than group_size; lower the two, or raise it"
            )
        if built.critic is not None and self.tokens is None and self.critic.lead >= self.steps:
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
        self.fillers(built)

    def fillers(self, built: BuiltObjective) -> tuple[ChosenFiller, ...]:
        """What fills in the columns that neither rollouts nor passes give.

        Raises:
            ConfigError: a column has no filler, or settings of fillers make no sense.
        """
        return choose_fillers(built, self.columns, defaults=self.objective.columns())


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """A training run: supervised learning, then learning from rollouts, or one of them."""

    seed: int = 0
    threads: int = 2
    """Of the arithmetic; part of what makes a run repeatable."""
    device: str = AUTO
    """Where learner, critic and engine work unless their sections say so: "auto" (CUDA where there is one), or a name
    of torch's."""
    world: tuple[WorldConfig, ...] = field(default_factory=lambda: (WorldConfig(),))
    """The worlds; in TOML one table `[world]`, or several `[[world]]`."""
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    sft: SftConfig | None = None
    grpo: GrpoConfig | None = None
    trackers: tuple[str, ...] = ("jsonl", "tensorboard")
    """Where figures and events are written: `jsonl`, `tensorboard`, `wandb`, or `module:name` of one's own."""
    contamination_lists: tuple[Path, ...] = ()
    """Lists of prompts that nothing may be learnt from, besides those that come with Palaestra."""

    def __post_init__(self) -> None:
        check_at_least(0, seed=self.seed)
        check_at_least(1, threads=self.threads)
