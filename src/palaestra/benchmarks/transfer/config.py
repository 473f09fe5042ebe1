"""What all arms of the comparison have in common; an arm says how many worlds it is trained in, and no more."""

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
"""How many worlds the arms are trained in."""
_CONTEXT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferConfig:
    """How policies are trained and measured, whatever the number of worlds."""

    model: ModelConfig = field(default_factory=lambda: ModelConfig(context=_CONTEXT))
    format: str = "compact-tools"
    """The chat format; one whose marks do not depend on worlds."""
    codec_worlds: int = 50
    """Worlds whose solutions the tokenizer is learnt from: the first that are listed for training. All arms have it."""
    tokens: int = 40_000
    """Tokens of the oracle's own turns in the demonstrations of an arm."""
    epochs: float = 4.0
    """How often the supervised stage goes through them."""
    sft: SftConfig = field(default_factory=lambda: SftConfig(batch=8))
    """Its steps follow from `tokens` and `epochs`."""
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
    """Its updates follow from `imitated_tokens`. Its rollouts' limits are the evaluations' too."""
    imitated_tokens: int = 10_000
    """Trained tokens of a round of expert iteration, about: sequences are taken to be as long as demonstrations."""
    tasks: int = 32
    """Tasks of each group that policies are measured on, at most."""
    samples: int = 1
    """Episodes of each."""
    temperature: float = 0.3
    """At which turns are drawn in evaluations."""
