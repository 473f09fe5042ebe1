"""The settings of a training run: typed and checked.

Each part is built from the frozen dataclass of its settings, so every setting has code that reads it.
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
"""Arguments of `gymnasium.make` that a run sets by other settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldConfig:
    """One world to train in."""

    env_id: str | None = None
    """The environment id of `gymnasium.make`, or a world's id. Default without `pack`: the default world."""
    pack: Path | None = None
    """The folder of a world pack, instead of `env_id`; its code is run."""
    name: str | None = None
    """A prefix for the references of its tasks, `name:task`, if a run has one world twice with different switches."""
    weight: float = 1.0
    """Its share of the groups and demonstrations, relative to the run's other worlds."""
    split: str = "train"
    families: tuple[str, ...] = ()
    """The families to learn from, by name without the world. Default: all families of the split."""
    further: int = 0
    """Training instances of each family in addition to those that the split lists; they are not proved."""
    switches: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further arguments of `gymnasium.make`: task files, a surface, a handbook, noise."""
    imports: tuple[str, ...] = ()
    """Modules that register environments outside the package."""
    where: Literal["here", "processes", "ray"] = "here"
    """This process, worker processes, or Ray actors on any number of machines."""
    workers: int | None = None
    """The number of processes or actors. Default: one for each processor."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    """Maximum seconds for answers of a world in another process."""

    def __post_init__(self) -> None:
        if self.pack is not None and self.env_id is not None:
            raise ValueError(
                f"pack={str(self.pack)!r} and env_id={self.env_id!r}: both name the world; leave one of them out"
            )
        if self.pack is None and self.env_id is None:  # stored settings state their defaults
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
    """A small decoder in Qwen3's architecture with random weights and tied embeddings."""

    hidden: int = 192
    layers: int = 2
    heads: int = 2
    kv_heads: int = 1
    head_dim: int = 64
    mlp: int = 576
    context: int = 2048
    """Maximum tokens of a segment."""
    vocabulary: int = 5120
    """Maximum tokens of the tokenizer, which is learnt from the demonstrations."""

    def __post_init__(self) -> None:
        check_at_least(1, hidden=self.hidden, layers=self.layers, heads=self.heads, kv_heads=self.kv_heads)
        check_at_least(1, head_dim=self.head_dim, mlp=self.mlp, context=self.context, vocabulary=self.vocabulary)
        DecoderShape(
            **{one.name: getattr(self, one.name) for one in fields(self)}  # the shape has its own rules for these
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConfig:
    """The policy to train."""

    checkpoint: Path | None = None
    """A checkpoint's folder in Hugging Face's layout, or the name of an installed pretrained model. Default: a new
    model with random weights."""
    format: str | None = None
    """The chat format, if the checkpoint does not name one. Default for a new policy: `compact`."""
    model: ModelConfig = field(default_factory=ModelConfig)


StageConfig: TypeAlias = SftConfig | ExpertConfig | RejectionConfig | GrpoConfig
STAGE_CLASSES: Mapping[str, type[StageConfig]] = MappingProxyType(
    {"sft": SftConfig, "expert": ExpertConfig, "rejection": RejectionConfig, "grpo": GrpoConfig}
)
"""The settings of each kind of stage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """A training run: stages in order, each starting from the policy of the previous one."""

    seed: int = 0
    threads: int = 2
    """Threads for arithmetic; a run repeats only with an equal number."""
    device: str = AUTO
    """The default device of learner, critic and engine: "auto" (CUDA if available) or one of torch's names."""
    invariant: bool = False
    """Whether engine and learner of each stage with rollouts compute one forward pass, equal to the bit at any batch: a
    token has the same log-probability when it is sampled and when it is trained on. CPU only, and slower."""
    world: tuple[WorldConfig, ...] = field(default_factory=lambda: (WorldConfig(),))
    """The worlds; in TOML a table `[world]`, or several `[[world]]`."""
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    stages: Mapping[str, StageConfig] = field(default_factory=dict[str, StageConfig])
    """The stages by name, in order. In TOML, each is a section named by its kind, `[grpo]`, or by its kind and a word,
    `[grpo-late]`. `stages` lists the names in order and may be left out if each kind occurs once: [sft], [expert],
    [rejection], [grpo]."""
    trackers: tuple[str, ...] = ("jsonl", "tensorboard")
    """Where figures and events are written: `jsonl`, `tensorboard`, `wandb`, or `module:name` of your own."""
    contamination_lists: tuple[Path, ...] = ()
    """Lists of prompts that must not be trained on, in addition to those that come with Palaestra."""

    def __post_init__(self) -> None:
        check_at_least(0, seed=self.seed)
        check_at_least(1, threads=self.threads)
        for name, stage in self.stages.items():
            assert isinstance(stage, STAGE_CLASSES[kind_of(name) or ""]), f"{name}: a stage of another kind"

    @property
    def sft(self) -> SftConfig | None:
        """The stage "sft", if there is one."""
        stage = self.stages.get("sft")
        return stage if isinstance(stage, SftConfig) else None

    @property
    def grpo(self) -> GrpoConfig | None:
        """The stage "grpo", if there is one."""
        stage = self.stages.get("grpo")
        return stage if isinstance(stage, GrpoConfig) else None

    @property
    def expert(self) -> ExpertConfig | None:
        """The stage "expert", if there is one."""
        stage = self.stages.get("expert")
        return stage if isinstance(stage, ExpertConfig) else None

    @property
    def rejection(self) -> RejectionConfig | None:
        """The stage "rejection", if there is one."""
        stage = self.stages.get("rejection")
        return stage if isinstance(stage, RejectionConfig) else None
