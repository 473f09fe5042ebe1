"""Samples with an engine, scores with a learner of the same weights, and compares, for all pairs of flows per round.

Trajectories of a group have the same prompt, and there is an answer between the turns of a trajectory. So prefixes are
shared and contexts are read in parts. The learner takes a step with learning rate 0, so that all rounds have the same
weights.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from statistics import median

import torch
from torch import Tensor

from palaestra.benchmarks.mismatch.flows import FlowPair
from palaestra.records import JsonObject
from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten_tokens
from palaestra.trainers.device import FOUR_BITS
from palaestra.trainers.engines.engine import EngineStats, Sampling, TurnRequest
from palaestra.trainers.engines.native import NativeConfig, NativeEngine
from palaestra.trainers.engines.noise import noise_key
from palaestra.trainers.learner import Learner, LearnerConfig, LoraConfig
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape
from palaestra.trainers.monitors.policy import mismatch_metrics
from palaestra.trainers.objectives import ComposedObjective, Metrics
from palaestra.trainers.products import Nvfp4Products
from palaestra.trajectory import Span, Tokens

SHAPE = DecoderShape(vocabulary=2048, hidden=128, layers=4, heads=4, kv_heads=2, head_dim=32, mlp=384, context=512)
"""A shape with 1.05 million parameters."""
_SPREAD = 0.01
"""The standard deviation of the second matrix of an adapter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MismatchScale:
    """The size of a measurement."""

    tokens: int = 10_000
    """Minimum number of tokens that each pair of flows samples."""
    rounds: int = 3
    shape: DecoderShape = SHAPE
    group_size: int = 8
    prompt: int = 48
    turn: int = 48
    turns: int = 2
    answer: int = 8
    rows: int = 64

    @property
    def groups(self) -> int:
        """Number of groups in a round."""
        return -(-self.tokens // (self.rounds * self.group_size * self.turn * self.turns))

    @property
    def context(self) -> int:
        """Maximum tokens of a trajectory: those of the shape, or more where needed."""
        return max(self.shape.context, self.prompt + self.turns * (self.turn + self.answer))


@dataclass(slots=True, kw_only=True)
class MismatchFigures:
    """The results of a pair of flows."""

    pair: FlowPair
    tokens: int = 0
    mismatch: Metrics = field(default_factory=dict[str, float])
    """See `mismatch_metrics`."""
    draw_seconds: list[float] = field(default_factory=list[float])
    """Processor seconds of sampling in each round."""
    step_seconds: list[float] = field(default_factory=list[float])
    """Processor seconds of the training step in each round."""
    cache_bytes: int = 0
    """Bytes that the engine allocated for keys and values."""
    weight_bytes: int = 0
    """Bytes of the engine's weights."""
    update_bytes: int = 0
    """Bytes of the new weights that a step sends to the engine."""

    def as_json(self) -> JsonObject:
        """The figures as plain JSON."""
        return {
            "pair": self.pair.name,
            "tokens": self.tokens,
            **self.mismatch,
            "draw_seconds": list(self.draw_seconds),
            "step_seconds": list(self.step_seconds),
            "cache_bytes": self.cache_bytes,
            "weight_bytes": self.weight_bytes,
            "update_bytes": self.update_bytes,
        }

    def draw_price(self, other: "MismatchFigures") -> float:
        """The relative duration of sampling, compared with another pair: the median over rounds."""
        return median(own / its for own, its in zip(self.draw_seconds, other.draw_seconds, strict=True))

    def step_price(self, other: "MismatchFigures") -> float:
        """The relative duration of training steps, compared with another pair: the median over rounds."""
        return median(own / its for own, its in zip(self.step_seconds, other.step_seconds, strict=True))


class _Contestant:
    """An engine and a learner of one model."""

    def __init__(self, model: Decoder, pair: FlowPair, scale: MismatchScale) -> None:
        self.figures = MismatchFigures(pair=pair)
        self._scale = scale
        self._off: list[Tensor] = []
        self._engine = NativeConfig(
            rows=scale.rows,
            capacity=2 * scale.rows * scale.context,
            precision=pair.rollouts.precision,
            keys_and_values=pair.rollouts.keys_and_values,
            invariant=pair.invariant,
        )
        config = LearnerConfig(
            lr=1.0,
            weight_decay=0.0,
            layout="shared",
            precision=pair.training.precision,
            keys_and_values=pair.training.keys_and_values,
            invariant=pair.invariant,
            lora=LoraConfig() if pair.training.adapters else None,
        )
        if pair.training.precision == FOUR_BITS:  # then engine and learner share one copy, as in a stage
            model = model.share()
            model.freeze(Nvfp4Products())
        self._learner = Learner(model, config)
        self._model = _give_adapters(model, self._learner) if pair.training.adapters else model
        update = self._learner.rollout_weights()
        self.figures.update_bytes = sum(weight.nbytes for weight in update.values())

    def play(self, round_: int) -> None:
        """Sample a round, score it, and take a step on it."""
        begun = time.process_time()
        tokens, stats = asyncio.run(_draw(self._model, self._engine, self._scale, round_))
        self.figures.draw_seconds.append(time.process_time() - begun)
        self.figures.cache_bytes, self.figures.weight_bytes = stats.cache_bytes, stats.weight_bytes
        batch = _batch(tokens, self._scale)
        learnt = self._learner.logprobs(batch).logp
        self._off.append((learnt - batch.logprob_T)[batch.trained_T])
        prepared = ComposedObjective().prepare(batch)
        begun = time.process_time()
        self._learner.step(prepared, lr=0.0)
        self.figures.step_seconds.append(time.process_time() - begun)
        off = torch.cat(self._off)
        self.figures.tokens, self.figures.mismatch = len(off), mismatch_metrics(off)


def measure_mismatch(
    pairs: Sequence[FlowPair],
    scale: MismatchScale,
    *,
    device: torch.device | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[MismatchFigures]:
    """Measure pairs of flows side by side: all pairs play a round before the next round begins.

    Args:
        pairs: The pairs of flows.
        scale: The size of the measurement.
        device: The device; by default the processor.
        progress: Receives the name of each pair that has played a round.
    """
    model = _sharp(replace(scale.shape, context=scale.context)).to(device or "cpu")
    contestants = [_Contestant(model, pair, scale) for pair in pairs]
    for one in contestants:  # warms up: compiles kernels, allocates, imports
        _Contestant(model, one.figures.pair, replace(scale, tokens=1, rounds=1)).play(-1)
    for round_ in range(scale.rounds):
        turned = round_ % len(contestants)
        for one in [*contestants[turned:], *contestants[:turned]]:
            one.play(round_)
            progress(one.figures.pair.name)
    return [one.figures for one in contestants]


def _sharp(shape: DecoderShape) -> Decoder:
    """A decoder whose distributions are neither uniform nor certain; its logits have a deviation of about 1.5."""
    model = fresh(shape, seed=0)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1:
                spread = 1.5 if name.startswith(("lm_head", "model.embed")) else 1.0
                weight.normal_(0.0, spread / weight.shape[-1] ** 0.5, generator=generator)
    return model


def _give_adapters(model: Decoder, learner: Learner) -> Decoder:
    """Give a learner adapters that change its weights by about 5 %, and return the model for sampling."""
    state, generator = learner.state(), torch.Generator().manual_seed(1)
    for name, weight in state["weights"].items():
        if ".lora_B." in name:  # initially 0
            weight.copy_(torch.empty(weight.shape).normal_(0.0, _SPREAD, generator=generator))
    learner.restore(state)
    weights = learner.rollout_weights()
    adapted = model.with_adapters(weights)
    if adapted is model:
        adapted = deepcopy(model)
        adapted.load_state_dict(dict(weights), strict=False)  # a tied output layer is left out
    return adapted


async def _draw(
    model: Decoder, config: NativeConfig, scale: MismatchScale, round_: int
) -> tuple[list[Tokens], EngineStats]:
    """Sample trajectories; return them with the engine's statistics."""
    engine = NativeEngine(model, config)
    members = [(group, member) for group in range(scale.groups) for member in range(scale.group_size)]
    drawn = await asyncio.gather(*(_trajectory(engine, scale, (round_, *one)) for one in members))
    stats = engine.stats()
    await engine.close()
    return list(drawn), stats


async def _trajectory(engine: NativeEngine, scale: MismatchScale, who: tuple[int, int, int]) -> Tokens:
    round_, group, _ = who
    prompt = Stream.root("mismatch", round_, group)
    own = Stream.root("mismatch", *who)
    vocabulary = scale.shape.vocabulary
    ids = [prompt.below(vocabulary) for _ in range(scale.prompt)]
    logprobs, sampled, spans = [0.0] * len(ids), [False] * len(ids), list[Span]()
    for _ in range(scale.turns):
        request = TurnRequest(
            trajectory=str(who),
            context=tuple(ids),
            sampling=Sampling(limit=scale.turn, stop=()),
            noise=noise_key(*who),
        )
        done = await engine.generate(request)
        spans.append(Span(kind="turn", start=len(ids), end=len(ids) + len(done.ids)))
        ids += [*done.ids, *(own.below(vocabulary) for _ in range(scale.answer))]
        logprobs += [*done.logprobs, *[0.0] * scale.answer]
        sampled += [*[True] * len(done.ids), *[False] * scale.answer]
    return Tokens(
        ids=tuple(ids),
        sampled=tuple(sampled),
        logprobs=tuple(logprobs),
        versions=(0,) * len(ids),
        spans=tuple(spans),
        stops=tuple("length" for _ in spans),
    )


def _batch(tokens: Sequence[Tokens], scale: MismatchScale) -> TokenBatch:
    """Make a batch in which returns alternate between 0 and 1 within each group."""
    place = torch.arange(len(tokens))
    batch = replace(flatten_tokens(tokens), group_R=place // scale.group_size, return_R=(place % 2).to(torch.float32))
    return ComposedObjective().advantages(batch)
