"""Arms and tables of ablations, and the budget that arms share.

Every arm continues from a policy of its seed that it shares with other arms: a warm start of its site and format, or
the trained policy of another arm. The arms of a table have equal processor time on one thread, or equally many steps.
Settings that an arm does not name are those of `palaestra.benchmarks.learning`: the demo's settings.
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
    """The settings that all arms share."""

    model: ModelConfig = field(default_factory=ModelConfig)
    demonstrations: int = 20
    """Number of demonstrations of each family."""
    sft: SftConfig = field(default_factory=lambda: LearningConfig().sft)
    """The settings of the warm start."""
    expert: ExpertConfig = field(default_factory=lambda: LearningConfig().expert)
    grpo: GrpoConfig = field(default_factory=lambda: LearningConfig().grpo)
    cpu_seconds: float = 300.0
    """Processor seconds of training after the warm start, on one thread."""
    samples: int = 3
    """Episodes of each held-out task at each temperature."""
    temperatures: tuple[float, ...] = (1.0, 0.3)


Stages: TypeAlias = Mapping[str, StageConfig]


def train_nothing(_: AblationConfig) -> Stages:
    """The stages of an arm that only measures its initial policy."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationArm:
    """One way to continue from a policy."""

    what: str
    """A description for a table's row."""
    stages: Callable[[AblationConfig], Stages]
    """The stages after the start."""
    site: str = "demo"
    """The site where the arm is trained and measured: a name of `SITES`."""
    format: str | None = None
    """The chat format of the policy and of its warm start, where it differs from the site's."""
    start: str | None = None
    """The arm whose trained policy is the start; `None` for the warm start of the site and format."""

    @property
    def chat_format(self) -> str:
        """The chat format of the policy."""
        return self.format or SITES[self.site].format

    def warm_start(self, config: AblationConfig) -> SftConfig:
        """The settings of the supervised steps that precede the arm's stages."""
        return replace(config.sft, steps=SITES[self.site].steps or config.sft.steps)

    def at_site(self, config: AblationConfig) -> AblationConfig:
        """The shared settings with those that the site sets: the model's context, samples and processor time."""
        site = SITES[self.site]
        return replace(
            config,
            model=replace(config.model, context=max(config.model.context, self.play(config).context)),
            samples=min(config.samples, site.samples or config.samples),
            cpu_seconds=min(config.cpu_seconds, site.cpu_seconds or config.cpu_seconds),
        )

    def demonstrations(self, config: AblationConfig) -> int:
        """Maximum number of demonstrations of each family."""
        return round(SITES[self.site].demonstration_factor * config.demonstrations)

    def play(self, config: AblationConfig) -> PlayConfig:
        """The limits of its episodes."""
        return SITES[self.site].play or config.expert.play


CellFigure: TypeAlias = Literal["lag", "mismatch", "CPU s a step"]
"""A figure of a cell's training: a column of a table."""


def describe_equal_time(config: AblationConfig) -> str:
    """Describe the budget of arms with equal processor time."""
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
    """The arm that is subtracted in differences; or a mapping from each arm to the arm that is subtracted from it."""
    over: str
    """The name of the subtracted arm or arms in the table's columns."""
    site: str = "demo"
    """The site where the arms are trained and measured."""
    budget: Callable[[AblationConfig], str] = describe_equal_time
    """Makes a sentence about the budget that the arms share."""
    figures: tuple[CellFigure, ...] = ()
    """Additional figures of training that the rows show."""
    seeds: int = 3
    """Training runs of each arm, unless the caller asks for another number."""

    def reference(self, arm: str) -> str | None:
        """The arm that is subtracted from `arm`; `None` where there is none."""
        if isinstance(self.against, Mapping):
            return self.against.get(arm)
        return self.against if arm != self.against else None
