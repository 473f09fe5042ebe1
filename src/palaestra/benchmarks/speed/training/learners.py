"""Learners that take the same step: the native learner in each layout, and the reference on transformers' model.

Axes: R trajectories, T tokens.
"""

import math
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from palaestra.benchmarks.speed.training.limits import synchronise
from palaestra.benchmarks.speed.training.models import read
from palaestra.benchmarks.speed.training.scale import TrainScale
from palaestra.seeding import Stream
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.flatten import flatten_tokens
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.learner import Learner, LearnerConfig, Precision
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.objectives import ComposedObjective
from palaestra.trainers.reference import learner as reference
from palaestra.trainers.reference.batch import Sample
from palaestra.trainers.reference.policy import ReferencePolicy
from palaestra.trajectory import Span, Stop, Tokens

_LR = 1e-6
_FORMAT = "compact"


class LearnerStep:
    """The trajectories of a step: groups that share a prompt and continue in turns to different lengths.

    Args:
        scale: The size of the run.
    """

    def __init__(self, scale: TrainScale) -> None:
        stream = Stream.root("bench-train")
        self.trajectories: list[Tokens] = []
        groups: list[int] = []
        for group in range(scale.groups):
            prompt = _draw_ids(stream.split("prompt", group), scale.prompt, scale.shape.vocabulary)
            for member in range(scale.group_size):
                self.trajectories.append(_trajectory(prompt, stream.split("member", group, member), scale))
                groups.append(group)
        returns = torch.tensor([float(place % 2) for place in range(len(groups))])
        batch = replace(flatten_tokens(self.trajectories), group_R=torch.tensor(groups), return_R=returns)
        self.batch: TokenBatch = ComposedObjective().advantages(batch)

    @property
    def tokens(self) -> int:
        """Number of tokens, counted once per trajectory that contains them, without padding."""
        return len(self.batch.ids_T)

    @property
    def trained_tokens(self) -> int:
        """Number of tokens that carry loss."""
        return int(self.batch.trained_T.sum())

    def samples(self) -> list[Sample]:
        """The same trajectories as samples of the reference learner."""
        batch = self.batch
        advantage_R = torch.zeros(batch.trajectories)
        advantage_R[batch.trajectory_T[batch.trained_T]] = batch.advantage_T[batch.trained_T]
        return [Sample(tokens=tokens, advantage=float(advantage_R[r])) for r, tokens in enumerate(self.trajectories)]


def _draw_ids(stream: Stream, count: int, vocabulary: int) -> list[int]:
    return [stream.below(vocabulary) for _ in range(count)]


def _trajectory(prompt: list[int], stream: Stream, scale: TrainScale) -> Tokens:
    """Make turns and answers behind the prompt; the last turn ends the trajectory."""
    stretch = math.log(scale.longest / scale.shortest) * stream.word() / 2.0**64
    behind = round(scale.shortest * math.exp(stretch))
    ids, sampled, spans, stops = list(prompt), [False] * len(prompt), list[Span](), list[Stop]()
    while behind > 0:
        turn = min(scale.turn, behind)
        spans.append(Span(kind="turn", start=len(ids), end=len(ids) + turn))
        stops.append("end")
        answer = min(scale.answer, max(0, behind - turn - 1))
        ids += _draw_ids(stream, turn + answer, scale.shape.vocabulary)
        sampled += [True] * turn + [False] * answer
        behind -= turn + answer
    uniform = -math.log(scale.shape.vocabulary)
    return Tokens(
        ids=tuple(ids),
        sampled=tuple(sampled),
        logprobs=tuple(uniform if own else 0.0 for own in sampled),
        versions=(0,) * len(ids),
        spans=tuple(spans),
        stops=tuple(stops),
    )


class OurSteps:
    """Steps of the native learner.

    Args:
        model: The model; the learner trains a copy of it.
        step: The trajectories to train on.
        scale: The size of the run, with the number of tokens per forward pass.
        layout: The layout of the batch.
        precision: The precision of matrix products.
        device: The device of the model.
    """

    def __init__(
        self,
        model: Decoder,
        step: LearnerStep,
        scale: TrainScale,
        *,
        layout: LayoutName,
        precision: Precision,
        device: torch.device,
    ) -> None:
        config = LearnerConfig(lr=_LR, micro_tokens=scale.micro_tokens, layout=layout, precision=precision)
        self._learner = Learner(deepcopy(model).to(device), config)
        self._step = step
        self._device = device
        self.losses: list[float] = []
        """The loss of each round."""

    async def __call__(self, round_: int) -> float:
        """Take a step; return its tokens per second."""
        del round_
        synchronise(self._device)
        start = perf_counter()
        metrics = self._learner.step(ComposedObjective().prepare(self._step.batch))
        synchronise(self._device)
        self.losses.append(metrics["loss"])
        return self._step.tokens / (perf_counter() - start)


class ReferenceSteps:
    """Steps of the reference learner.

    Args:
        directory: A checkpoint of the model to train.
        step: The trajectories to train on.
        scale: The size of the run, with the number of tokens per forward pass.
        dtype: The type of weights and products.
        device: The device of the model.
    """

    def __init__(
        self, directory: Path, step: LearnerStep, scale: TrainScale, *, dtype: torch.dtype, device: torch.device
    ) -> None:
        model: Any = read(directory, dtype=dtype)
        form = CHAT_FORMATS.get(_FORMAT)
        codec = Codec(train_tokenizer([[form.end]], form, size=scale.shape.vocabulary), form)  # it reads nothing here
        policy = ReferencePolicy(model=model.to(device), codec=codec)
        self._learner = reference.ReferenceLearner(
            policy, reference.OptimiserConfig(lr=_LR, micro_tokens=scale.micro_tokens)
        )
        self._tokens = step.tokens
        self._samples = step.samples()
        self._device = device
        self.losses: list[float] = []
        """The loss of each round."""

    async def __call__(self, round_: int) -> float:
        """Take a step; return its tokens per second."""
        del round_
        synchronise(self._device)
        start = perf_counter()
        metrics = self._learner.grpo_step(
            self._samples, lr=_LR, clip=0.2, temperature=1.0, sequences=len(self._samples)
        )
        synchronise(self._device)
        self.losses.append(metrics["loss"])
        return self._tokens / (perf_counter() - start)
