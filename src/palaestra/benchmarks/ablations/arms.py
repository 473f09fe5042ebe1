"""The arms, the tables that compare them, and the budget that all of them have.

Every arm but the warm start itself goes on from a warm start of its seed and its format, for equal processor time
on one thread. What an arm does not name is as in `palaestra.benchmarks.learning`: the demo's settings.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from palaestra.benchmarks.learning import LearningConfig
from palaestra.trainers import ChoiceConfig, ExpertConfig, GrpoConfig, ModelConfig, ObjectiveConfig, SftConfig
from palaestra.trainers.choice import ChoiceRule
from palaestra.trainers.loops.config import StageConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationConfig:
    """What all arms have in common."""

    model: ModelConfig = field(default_factory=ModelConfig)
    demonstrations: int = 20
    """Of each family."""
    sft: SftConfig = field(default_factory=lambda: LearningConfig().sft)
    """The warm start."""
    expert: ExpertConfig = field(default_factory=lambda: LearningConfig().expert)
    grpo: GrpoConfig = field(default_factory=lambda: LearningConfig().grpo)
    cpu_seconds: float = 300.0
    """Processor time of training after the warm start, on one thread."""
    samples: int = 3
    """Episodes of each held-out task at each temperature."""
    temperatures: tuple[float, ...] = (1.0, 0.3)


Stages: TypeAlias = Mapping[str, StageConfig]


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationArm:
    """One way to go on from the warm start."""

    what: str
    """In words, for a table's row."""
    stages: Callable[[AblationConfig], Stages]
    """The stages after the warm start; their `cpu_seconds` are the budget."""
    format: str = "compact"
    """The chat format of the policy, and of its warm start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationTable:
    """A question, and the arms that answer it."""

    question: str
    arms: tuple[str, ...]
    against: str
    """The arm that differences are taken from."""


def _more_steps(config: AblationConfig) -> Stages:
    return {"sft": replace(config.sft, cpu_seconds=config.cpu_seconds)}


def _expert(config: AblationConfig) -> Stages:
    return {"expert": replace(config.expert, cpu_seconds=config.cpu_seconds)}


def _without_branching(config: AblationConfig) -> Stages:
    return {"expert": replace(config.expert, cpu_seconds=config.cpu_seconds, branching=None)}


def _choose_by(rule: ChoiceRule) -> Callable[[AblationConfig], Stages]:
    def stages(config: AblationConfig) -> Stages:
        choice = ChoiceConfig(rule=rule, instances=config.expert.choice.instances)
        return {"expert": replace(config.expert, cpu_seconds=config.cpu_seconds, choice=choice)}

    return stages


def _gradient(config: AblationConfig) -> Stages:
    return {"grpo": replace(config.grpo, cpu_seconds=config.cpu_seconds)}


def _gradient_on_points(config: AblationConfig) -> Stages:
    return {"grpo": replace(config.grpo, cpu_seconds=config.cpu_seconds, objective=ObjectiveConfig())}


def _both(config: AblationConfig) -> Stages:
    return {
        "expert": replace(config.expert, cpu_seconds=0.8 * config.cpu_seconds),
        "grpo": replace(config.grpo, cpu_seconds=0.2 * config.cpu_seconds),
    }


def _nothing(_: AblationConfig) -> Stages:
    return {}


ARMS: Mapping[str, AblationArm] = MappingProxyType(
    {
        "warm-start": AblationArm(what="warm start alone", stages=_nothing),
        "expert": AblationArm(what="expert iteration, branching, bandit, compact", stages=_expert),
        "warm-start-opaque": AblationArm(what="warm start alone, former rendering", stages=_nothing, format="opaque"),
        "expert-opaque": AblationArm(what="expert iteration, former rendering", stages=_expert, format="opaque"),
        "more-steps": AblationArm(what="further supervised steps", stages=_more_steps),
        "gradient": AblationArm(what="policy gradient, paid for solved tasks", stages=_gradient),
        "both": AblationArm(what="expert iteration for 80 % of the time, then policy gradient", stages=_both),
        "no-branching": AblationArm(what="expert iteration without branching", stages=_without_branching),
        "uniform": AblationArm(what="expert iteration, uniform choice of families", stages=_choose_by("uniform")),
        "goldilocks": AblationArm(what="expert iteration, Goldilocks", stages=_choose_by("goldilocks")),
        "paced": AblationArm(what="expert iteration, PACED", stages=_choose_by("paced")),
        "gradient-points": AblationArm(what="policy gradient, paid by the checklist", stages=_gradient_on_points),
    }
)
"""By name. An arm that several tables compare is trained once a seed."""

TABLES: Mapping[str, AblationTable] = MappingProxyType(
    {
        "rendering": AblationTable(
            question="Does the rendering matter?",
            arms=("warm-start-opaque", "warm-start", "expert-opaque", "expert"),
            against="expert-opaque",
        ),
        "stages": AblationTable(
            question="Which stage teaches?",
            arms=("warm-start", "more-steps", "gradient", "expert", "both"),
            against="more-steps",
        ),
        "branching": AblationTable(
            question="Is branching worth its time?", arms=("no-branching", "expert"), against="no-branching"
        ),
        "choosers": AblationTable(
            question="Which choice of tasks teaches most?",
            arms=("uniform", "expert", "goldilocks", "paced"),
            against="uniform",
        ),
        "reward": AblationTable(
            question="Does a denser reward teach more?",
            arms=("warm-start", "gradient", "gradient-points"),
            against="gradient",
        ),
    }
)
"""By name, in the order in which their cells are run."""
