"""What an arm and a table are, and the budget that arms have in common.

Every arm goes on from a policy of its seed that it shares with others: a warm start of its site and format, or what
another arm trained. The arms of a table have equal processor time on one thread, or take equally many steps. What an
arm does not name is as in `palaestra.benchmarks.learning`: the demo's settings.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from palaestra.benchmarks.ablations.sites import SITES
from palaestra.benchmarks.learning import LearningConfig
from palaestra.trainers import ExpertConfig, GrpoConfig, ModelConfig, PlayConfig, SftConfig
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


def train_nothing(_: AblationConfig) -> Stages:
    """The stages of an arm that is what it begins with."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationArm:
    """One way to go on from a policy."""

    what: str
    """In words, for a table's row."""
    stages: Callable[[AblationConfig], Stages]
    """The stages after the start."""
    site: str = "demo"
    """Where it is trained and measured: a name of `SITES`."""
    format: str | None = None
    """The chat format of the policy, and of its warm start, where it is not the site's."""
    start: str | None = None
    """The arm whose trained policy it goes on from; `None` for the warm start of its site and format."""

    @property
    def chat_format(self) -> str:
        """The format of its policy."""
        return self.format or SITES[self.site].format

    def warm_start(self, config: AblationConfig) -> SftConfig:
        """The supervised steps that come before all else."""
        return replace(config.sft, steps=SITES[self.site].steps or config.sft.steps)

    def play(self, config: AblationConfig) -> PlayConfig:
        """The limits of its episodes."""
        return SITES[self.site].play or config.expert.play


CellFigure: TypeAlias = Literal["lag", "mismatch", "CPU s a step"]
"""A figure of a cell's training: a column of a table."""


def describe_equal_time(config: AblationConfig) -> str:
    """The budget of arms that have equal processor time."""
    return (
        f"Every arm but a warm start trains for {config.cpu_seconds:g} s of processor time on one thread after a warm "
        f"start of {config.sft.steps} steps."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationTable:
    """A question, and the arms that answer it."""

    question: str
    arms: tuple[str, ...]
    against: str | Mapping[str, str]
    """The arm that differences are taken from; or, by arm, the one that its difference is taken from."""
    over: str
    """What a table's columns call that arm, or those arms."""
    site: str = "demo"
    """Where its arms are trained and measured."""
    budget: Callable[[AblationConfig], str] = describe_equal_time
    """What arms have in common, in a sentence."""
    figures: tuple[CellFigure, ...] = ()
    """What else of training its rows show."""
    seeds: int = 3
    """Training runs of each arm, unless more or fewer are asked for."""

    def reference(self, arm: str) -> str | None:
        """The arm that the difference of `arm` is taken from; `None` where it has none."""
        if isinstance(self.against, Mapping):
            return self.against.get(arm)
        return self.against if arm != self.against else None
