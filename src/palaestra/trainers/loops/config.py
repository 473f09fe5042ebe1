"""The settings of a training run: typed, and refused where they make no sense.

Each part's settings are the frozen dataclass that the part itself is built from, so a setting cannot exist without
somebody who reads it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from palaestra.packs import DEFAULT, PACKS
from palaestra.trainers.device import AUTO
from palaestra.trainers.limits import check_at_least
from palaestra.trainers.loops.imitation_config import ExpertConfig, RejectionConfig, SftConfig
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.rollouts.worlds import Timeouts
from palaestra.trainers.stage_kinds import kind_of

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
    further: int = 0
    """Instances of each family that are learnt from beyond those that the split lists; they are not proved."""
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
        check_at_least(0, further=self.further)
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
    """A checkpoint's folder in Hugging Face's layout, or the name of an installed pretrained model; without one a fresh
    model is made."""
    format: str | None = None
    """The chat format, where the checkpoint does not say one; a fresh policy is `compact` unless told otherwise."""
    model: ModelConfig = field(default_factory=ModelConfig)


StageConfig: TypeAlias = SftConfig | ExpertConfig | RejectionConfig | GrpoConfig
STAGE_CLASSES: Mapping[str, type[StageConfig]] = MappingProxyType(
    {"sft": SftConfig, "expert": ExpertConfig, "rejection": RejectionConfig, "grpo": GrpoConfig}
)
"""The settings of each kind of stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """A training run: stages one after the other, each from the policy that the one before it came to."""

    seed: int = 0
    threads: int = 2
    """Of the arithmetic; part of what makes a run repeatable."""
    device: str = AUTO
    """Where learner, critic and engine work unless their sections say so: "auto" (CUDA where there is one), or a name
    of torch's."""
    invariant: bool = False
    """Whether engine and learner of each stage with rollouts compute one forward pass, equal to the bit at any batch:
    a token has the same log-probability when it is drawn and when it is trained on. On processors; it costs speed."""
    world: tuple[WorldConfig, ...] = field(default_factory=lambda: (WorldConfig(),))
    """The worlds; in TOML one table `[world]`, or several `[[world]]`."""
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    stages: Mapping[str, StageConfig] = field(default_factory=dict[str, StageConfig])
    """By name, in order. In TOML each is a section of its kind, `[grpo]`, or of its kind and a word, `[grpo-late]`;
    `stages` lists the names in order and may be left out where each kind occurs once: [sft], [expert], [rejection],
    [grpo]."""
    trackers: tuple[str, ...] = ("jsonl", "tensorboard")
    """Where figures and events are written: `jsonl`, `tensorboard`, `wandb`, or `module:name` of one's own."""
    contamination_lists: tuple[Path, ...] = ()
    """Lists of prompts that nothing may be learnt from, besides those that come with Palaestra."""

    def __post_init__(self) -> None:
        check_at_least(0, seed=self.seed)
        check_at_least(1, threads=self.threads)
        for name, stage in self.stages.items():
            assert isinstance(stage, STAGE_CLASSES[kind_of(name) or ""]), f"{name}: a stage of another kind"

    @property
    def sft(self) -> SftConfig | None:
        """The stage "sft", where there is one."""
        stage = self.stages.get("sft")
        return stage if isinstance(stage, SftConfig) else None

    @property
    def grpo(self) -> GrpoConfig | None:
        """The stage "grpo", where there is one."""
        stage = self.stages.get("grpo")
        return stage if isinstance(stage, GrpoConfig) else None

    @property
    def expert(self) -> ExpertConfig | None:
        """The stage "expert", where there is one."""
        stage = self.stages.get("expert")
        return stage if isinstance(stage, ExpertConfig) else None

    @property
    def rejection(self) -> RejectionConfig | None:
        """The stage "rejection", where there is one."""
        stage = self.stages.get("rejection")
        return stage if isinstance(stage, RejectionConfig) else None
