"""The settings that all arms of the comparison share; an arm adds only its number of worlds."""

from dataclasses import dataclass, field

from palaestra.trainers import (
    ChoiceConfig,
    ExpertConfig,
    LearnerConfig,
    ModelConfig,
    NativeConfig,
    PlayConfig,
    PoolConfig,
    SftConfig,
    Staleness,
)

WORLDS = (1, 5, 50, 500)
"""The numbers of worlds in which the arms are trained."""
_CONTEXT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferConfig:
    """The settings of training and measurement, for any number of worlds."""

    model: ModelConfig = field(default_factory=lambda: ModelConfig(context=_CONTEXT))
    format: str = "compact-tools"
    """The chat format; its marks do not depend on worlds."""
    codec_worlds: int = 50
    """Number of worlds whose solutions train the tokenizer: the first worlds listed for training. All arms share it."""
    tokens: int = 40_000
    """Tokens of the oracle's own turns in the demonstrations of an arm."""
    epochs: float = 4.0
    """Number of passes of the supervised stage over the demonstrations."""
    sft: SftConfig = field(default_factory=lambda: SftConfig(batch=8))
    """The supervised stage; its number of steps follows from `tokens` and `epochs`."""
    expert: ExpertConfig = field(
        default_factory=lambda: ExpertConfig(
            steps=2,
            demonstration_share=0.3,
            learner=LearnerConfig(lr=2e-3),
            choice=ChoiceConfig(rule="uniform", instances="endless"),
            limits=Staleness(per_step=16),
            play=PlayConfig(context=_CONTEXT, turn=96),
            pool=PoolConfig(agents=64),
            engine=NativeConfig(rows=64),
        )
    )
    """Expert iteration; its updates follow from `imitated_tokens`, and its rollout limits also apply to evaluations."""
    imitated_tokens: int = 10_000
    """Approximate trained tokens per round of expert iteration, assuming sequences as long as the demonstrations."""
    tasks: int = 32
    """Maximum number of test tasks in each group."""
    samples: int = 1
    """Episodes of each test task."""
    temperature: float = 0.3
    """The sampling temperature in evaluations."""
