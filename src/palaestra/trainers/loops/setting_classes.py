"""The class of every setting: what happens if a run is resumed with another value.

- identity: it would be another run. The change is refused; use another folder.
- trajectory: later steps learn something else. The change needs `--amend`.
- operational: later steps learn the same. The change is accepted. Some of these change the order in which numbers are
  added, and so the last bits of the weights: an exact replay cannot cross such a change.

Every accepted change is a line of the run's lineage file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import cast

from palaestra.records import Json
from palaestra.trainers.branching import BranchingConfig, GrpoBranchingConfig
from palaestra.trainers.choice import ChoiceConfig
from palaestra.trainers.critic import CriticConfig
from palaestra.trainers.engines.native import NativeConfig
from palaestra.trainers.engines.replicas import ReplicasConfig
from palaestra.trainers.engines.vllm import VllmConfig
from palaestra.trainers.learner import LearnerConfig, LoraConfig
from palaestra.trainers.lineage import SettingClass
from palaestra.trainers.loops.config import STAGE_CLASSES, ModelConfig, PolicyConfig, TrainConfig, WorldConfig
from palaestra.trainers.loops.imitation_config import ExpertConfig, KeepConfig, RejectionConfig, SftConfig
from palaestra.trainers.loops.reading import section_of
from palaestra.trainers.loops.rollout_config import GrpoConfig
from palaestra.trainers.loops.saves import SaveConfig
from palaestra.trainers.loops.weight_noise import WeightNoiseConfig
from palaestra.trainers.monitors import AlarmConfig, RolloutAlarmConfig
from palaestra.trainers.objectives import ObjectiveConfig
from palaestra.trainers.rollouts.budget import PlayConfig
from palaestra.trainers.rollouts.faults import Backoff
from palaestra.trainers.rollouts.groups import GroupRule
from palaestra.trainers.rollouts.pool import PoolConfig
from palaestra.trainers.rollouts.staleness import Staleness
from palaestra.trainers.rollouts.worlds import Timeouts
from palaestra.trainers.stage_kinds import kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRule:
    """The rule for a change of a setting."""

    kind: SettingClass
    rounding: bool = False
    """Whether the last bits of weights or draws depend on an operational setting."""

    @property
    def ends_replay(self) -> bool:
        """Whether an exact replay cannot cross a change of the setting."""
        return self.kind != "operational" or self.rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class _Classes:
    """The names of a section's settings, by class; sections within it have their own."""

    identity: str = ""
    trajectory: str = ""
    operational: str = ""
    rounding: str = ""

    def by_name(self) -> dict[str, SettingRule]:
        """The rule of each name."""
        listed = (
            (self.identity, SettingRule(kind="identity")),
            (self.trajectory, SettingRule(kind="trajectory")),
            (self.operational, SettingRule(kind="operational")),
            (self.rounding, SettingRule(kind="operational", rounding=True)),
        )
        return {name: rule for names, rule in listed for name in names.split()}


_SECTIONS: Mapping[type, _Classes] = {
    TrainConfig: _Classes(
        identity="seed world",
        trajectory="contamination_lists invariant",
        operational="trackers stages",
        rounding="threads device",
    ),
    WorldConfig: _Classes(
        identity="env_id pack name weight split families further switches imports", operational="where workers"
    ),
    Timeouts: _Classes(operational="open reset step episode"),
    PolicyConfig: _Classes(identity="checkpoint format"),
    ModelConfig: _Classes(identity="hidden layers heads kv_heads head_dim mlp context vocabulary"),
    SftConfig: _Classes(identity="demonstrations", trajectory="steps cpu_seconds batch warmup_steps"),
    GrpoConfig: _Classes(
        identity="group_size columns",
        trajectory="updates branching weight_noise vllm in_flight",
        operational="steps tokens cpu_seconds patience probe probe_prompts",
        rounding="replicas",
    ),
    ExpertConfig: _Classes(
        identity="group_size demonstrations",
        trajectory="updates batch demonstration_share branching vllm in_flight",
        operational="steps cpu_seconds patience",
        rounding="replicas",
    ),
    RejectionConfig: _Classes(
        identity="group_size demonstrations rounds",
        trajectory="steps batch demonstration_share branching vllm in_flight",
        operational="patience",
        rounding="replicas",
    ),
    ChoiceConfig: _Classes(identity="rule instances memory floor candidates epsilon window target"),
    KeepConfig: _Classes(trajectory="per_task per_family order prefixes"),
    BranchingConfig: _Classes(trajectory="continuations pivots depth window"),
    GrpoBranchingConfig: _Classes(trajectory="continuations pivots depth window weight"),
    WeightNoiseConfig: _Classes(trajectory="start end levels hold"),
    LearnerConfig: _Classes(
        identity="lora",
        trajectory="lr betas weight_decay max_norm precision keys_and_values invariant",
        rounding="micro_tokens layout logits_chunk checkpointing device",
    ),
    LoraConfig: _Classes(identity="rank alpha targets seed"),
    CriticConfig: _Classes(identity="unit loss", trajectory="clip updates lead progress"),
    ObjectiveConfig: _Classes(identity="preset imports", trajectory="parts"),
    Staleness: _Classes(identity="per_step", trajectory="staleness window"),
    GroupRule: _Classes(trajectory="kind minimum enough straggler_seconds extras"),
    PlayConfig: _Classes(trajectory="context turn temperature top_p turns seconds", operational="turn_timeout name"),
    PoolConfig: _Classes(operational="close_seconds", rounding="agents"),
    Backoff: _Classes(operational="retries first longest"),
    NativeConfig: _Classes(
        trajectory="context precision keys_and_values invariant", rounding="rows capacity prefill drafts device"
    ),
    ReplicasConfig: _Classes(operational="silence", rounding="count threads devices"),
    VllmConfig: _Classes(
        trajectory="context dtype arguments",
        operational="model python eager start_timeout silence environment",
        rounding="cache_bytes turns",
    ),
    RolloutAlarmConfig: _Classes(operational="window token_budget stalling solved_fall"),
    AlarmConfig: _Classes(
        operational="window length_correlation entropy_floor entropy_fall entropy_rise entropy_calm information_fall "
        "ess flat kl kl_jump token_budget stalling solved_fall"
    ),
    SaveConfig: _Classes(operational="every minutes background"),
}


def rule_of(setting: str) -> SettingRule:
    """The rule of a setting by its full name, such as "grpo.learner.lr", "grpo-late.steps" or "world.0.split"."""
    return SETTING_RULES[_rule_name(setting)]


def is_optional_section(name: str) -> bool:
    """Whether a prefix of setting names is an optional section: only those sections have a rule."""
    return not name.rpartition(".")[2].isdigit() and _rule_name(name) in SETTING_RULES  # a number belongs to a world


def _rule_name(setting: str) -> str:
    """The name of a setting's rule: without numbers of worlds, and with a stage's kind instead of its name."""
    first, *others = setting.split(".")
    return ".".join([kind_of(first) or first, *(part for part in others if not part.isdigit())])


def _rules_in(kind: type, before: str = "") -> Iterator[tuple[str, SettingRule]]:
    own = _SECTIONS[kind].by_name()
    for one in fields(kind):
        inner = WorldConfig if (kind, one.name) == (TrainConfig, "world") else section_of(kind, one.name)
        if inner is None or one.name in own:  # an optional section has a rule itself
            yield f"{before}{one.name}", own[one.name]
        if inner is not None:
            yield from _rules_in(inner, f"{before}{one.name}.")


def _every_rule() -> Iterator[tuple[str, SettingRule]]:
    yield from _rules_in(TrainConfig)
    for kind, settings in STAGE_CLASSES.items():
        yield kind, SettingRule(kind="operational")  # a run may get a further stage
        yield from _rules_in(settings, f"{kind}.")


SETTING_RULES: Mapping[str, SettingRule] = MappingProxyType(dict(_every_rule()))
"""The rule of every setting by full name, without numbers of worlds, and with stages named by their kinds."""


def setting_prefix(stage: str, kind: str) -> str:
    """The prefix of a stage's settings; a stage outside a run may have any name."""
    return f"{stage if kind_of(stage) == kind else kind}."


def flat_settings(table: Mapping[str, Json], kind: type = TrainConfig, before: str = "") -> dict[str, Json]:
    """A document's settings by full name; a mapping that is a value, such as switches, is not split."""
    flat: dict[str, Json] = {}
    for name, value in table.items():
        if kind is TrainConfig and name == "world" and isinstance(value, list):
            for number, world in enumerate(value):
                flat |= flat_settings(cast("Mapping[str, Json]", world), WorldConfig, f"{before}world.{number}.")
            continue
        inner = section_of(kind, name) if any(one.name == name for one in fields(kind)) else None
        if kind is TrainConfig and (stage := kind_of(name)) is not None:
            inner = STAGE_CLASSES[stage]
        if inner is not None and isinstance(value, Mapping):
            flat |= flat_settings(cast("Mapping[str, Json]", value), inner, f"{before}{name}.")
        else:
            flat[f"{before}{name}"] = value
    return flat
