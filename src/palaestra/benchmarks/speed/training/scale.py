"""The size of a run: large enough to publish, or small enough to check that every measurement works."""

from dataclasses import dataclass, field

from palaestra.trainers.model.shape import DecoderShape

SMALL = DecoderShape(
    vocabulary=2048, hidden=256, layers=6, heads=8, kv_heads=4, head_dim=32, mlp=1024, context=1024, tied=True
)
"""The shape for measurements on processors: six million weights."""

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
"""The shape for measurements on accelerators: that of Qwen3 0.6B."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineScale:
    """The amount of sampling."""

    shape: DecoderShape = SMALL
    sequences: int = 64
    """Number of sequences at once."""
    prompt: int = 100
    """Tokens of a prompt."""
    new: int = 128
    """Tokens that each sequence samples in one go."""
    turns: int = 4
    """Turns of each trajectory, where there are tools."""
    turn: int = 32
    """Tokens of a turn."""
    answer: int = 30
    """Tokens of a tool's answer."""
    latency: tuple[float, float] = (0.1, 1.0)
    """Minimum and maximum seconds of a tool; short durations are likelier."""
    rounds: int = 3
    """Number of rounds that count, sampling in one go."""
    rounds_in_turns: int = 3
    """Number of rounds that count, sampling in turns, which takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainScale:
    """The amount of training in one step."""

    shape: DecoderShape = SMALL
    groups: int = 8
    group_size: int = 8
    """Trajectories of a group, which begin with the same prompt."""
    prompt: int = 160
    """Tokens that the trajectories of a group share."""
    shortest: int = 32
    longest: int = 768
    """Tokens behind the prompt: at least `shortest`, at most `longest`; short lengths are likelier."""
    turn: int = 32
    """Tokens that the policy writes per turn."""
    answer: int = 30
    """Tokens that the policy reads between two turns."""
    micro_tokens: int = 8192
    rounds: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AsyncScale:
    """The length of the loops."""

    agents: int = 64
    groups: int = 8
    """Number of groups per step."""
    group_size: int = 8
    staleness: int = 2
    """Maximum number of versions that a group may be behind, in loops that allow staleness."""
    turn: int = 48
    """Maximum tokens of a turn."""
    latency: tuple[float, float] = (0.1, 1.0)
    """Minimum and maximum seconds of a tool; short durations are likelier."""
    warm_up: int = 100
    """Steps on the oracle's episodes before the measurement, so that the policy writes turns that can be parsed."""
    steps: int = 5
    """Number of steps that count; two uncounted steps precede them, in which all episodes start at once."""
    rounds: int = 3
    """Number of runs of each method; a run of all of them takes two minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaScale:
    """The amount of sampling by several engines."""

    shape: DecoderShape = SMALL
    replicas: int = 2
    groups: int = 16
    """Number of groups at once."""
    group_size: int = 4
    """Trajectories of a group, which begin with the same prompt."""
    prompt: int = 160
    """Tokens of a prompt."""
    turns: int = 2
    """Turns of each trajectory."""
    turn: int = 32
    """Tokens of a turn."""
    answer: int = 30
    """Tokens of an answer."""
    rounds: int = 5
    """Number of rounds that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingScale:
    """The sizes of all commands."""

    engine: EngineScale = field(default_factory=EngineScale)
    train: TrainScale = field(default_factory=TrainScale)
    asynchrony: AsyncScale = field(default_factory=AsyncScale)
    replicas: ReplicaScale = field(default_factory=ReplicaScale)


FULL = TrainingScale()
"""The scale of published figures; a run takes minutes on an idle machine of two cores."""

QUICK = TrainingScale(
    engine=EngineScale(sequences=8, new=16, turns=2, turn=8, latency=(0.01, 0.05), rounds=1, rounds_in_turns=1),
    train=TrainScale(groups=2, group_size=2, longest=128, rounds=1),
    asynchrony=AsyncScale(
        agents=8, groups=2, group_size=4, turn=16, latency=(0.01, 0.05), warm_up=10, steps=1, rounds=1
    ),
    replicas=ReplicaScale(groups=4, group_size=2, turns=2, turn=8, rounds=1),
)
"""A few measurements of each kind."""

CUDA = TrainingScale(
    engine=EngineScale(shape=QWEN3_06B, prompt=512, new=256),
    train=TrainScale(shape=QWEN3_06B, prompt=512, longest=2048, micro_tokens=16_384),
)
"""The scale for accelerators."""


def scale_of(device: str, *, quick: bool) -> TrainingScale:
    """The scale for a device."""
    if quick:
        return QUICK
    return CUDA if device == "cuda" else FULL
