"""How much a run draws and trains: enough to publish, or enough to see that everything can be measured."""

from dataclasses import dataclass, field

from palaestra.trainers.model.shape import DecoderShape

SMALL = DecoderShape(
    vocabulary=2048, hidden=256, layers=6, heads=8, kv_heads=4, head_dim=32, mlp=1024, context=1024, tied=True
)
"""What processors are measured with: six million weights."""

QWEN3_06B = DecoderShape(
    vocabulary=151_936,
    hidden=1024,
    layers=28,
    heads=16,
    kv_heads=8,
    head_dim=128,
    mlp=3072,
    context=4096,
    rope_theta=1_000_000.0,
)
"""What accelerators are measured with: the shape of Qwen3 0.6B."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineScale:
    """How much is drawn."""

    shape: DecoderShape = SMALL
    sequences: int = 64
    """At once."""
    prompt: int = 100
    """Tokens."""
    new: int = 128
    """Tokens that each sequence draws in one go."""
    turns: int = 4
    """That each trajectory has, where there are tools."""
    turn: int = 32
    """Tokens of a turn."""
    answer: int = 30
    """Tokens of a tool's answer."""
    latency: tuple[float, float] = (0.1, 1.0)
    """Seconds that a tool takes, at least and at most; short ones are likelier."""
    rounds: int = 3
    """That count, of drawing in one go."""
    rounds_in_turns: int = 2
    """And in turns, which take longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainScale:
    """How much is trained on in a step."""

    shape: DecoderShape = SMALL
    groups: int = 8
    group_size: int = 8
    """Trajectories of a group, which begin with the same prompt."""
    prompt: int = 160
    """Tokens that the trajectories of a group share."""
    shortest: int = 32
    longest: int = 768
    """Tokens behind the prompt; short ones are likelier."""
    turn: int = 32
    """Tokens that the policy writes at a time."""
    answer: int = 30
    """Tokens that it reads in between."""
    micro_tokens: int = 8192
    rounds: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncScale:
    """How long the loops run."""

    agents: int = 64
    groups: int = 8
    """A step."""
    group_size: int = 8
    staleness: int = 2
    """Versions that a group may be behind, where it may be at all."""
    turn: int = 48
    """Tokens that a turn may have."""
    latency: tuple[float, float] = (0.1, 1.0)
    """Seconds that a tool takes, at least and at most; short ones are likelier."""
    warm_up: int = 100
    """Steps on the oracle's episodes before, so that the policy writes turns that can be read."""
    steps: int = 5
    """That count; the first two, in which everything begins at once, come before them."""
    rounds: int = 1
    """Runs of each; one takes a minute or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaScale:
    """How much several engines draw."""

    shape: DecoderShape = SMALL
    replicas: int = 2
    groups: int = 16
    """At once."""
    group_size: int = 4
    """Trajectories of a group, which begin with the same prompt."""
    prompt: int = 160
    """Tokens."""
    turns: int = 2
    """That each trajectory has."""
    turn: int = 32
    """Tokens of a turn."""
    answer: int = 30
    """Tokens of an answer."""
    rounds: int = 5
    """That count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingScale:
    """How much each command measures."""

    engine: EngineScale = field(default_factory=EngineScale)
    train: TrainScale = field(default_factory=TrainScale)
    asynchrony: AsyncScale = field(default_factory=AsyncScale)
    replicas: ReplicaScale = field(default_factory=ReplicaScale)


FULL = TrainingScale()
"""What figures to publish come from: minutes on a quiet machine of two cores."""

QUICK = TrainingScale(
    engine=EngineScale(sequences=8, new=16, turns=2, turn=8, latency=(0.01, 0.05), rounds=1, rounds_in_turns=1),
    train=TrainScale(groups=2, group_size=2, longest=128, rounds=1),
    asynchrony=AsyncScale(
        agents=8, groups=2, group_size=4, turn=16, latency=(0.01, 0.05), warm_up=10, steps=1, rounds=1
    ),
    replicas=ReplicaScale(groups=4, group_size=2, turns=2, turn=8, rounds=1),
)
"""Everything, a little of each."""

CUDA = TrainingScale(
    engine=EngineScale(shape=QWEN3_06B, prompt=512, new=256),
    train=TrainScale(shape=QWEN3_06B, prompt=512, longest=2048, micro_tokens=16_384),
)
"""What accelerators are measured with."""


def scale_of(device: str, *, quick: bool) -> TrainingScale:
    """How much to measure there."""
    if quick:
        return QUICK
    return CUDA if device == "cuda" else FULL
