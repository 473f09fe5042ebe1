"""The reference trainer: a small policy learns a world from nothing, on two CPU cores.

It has three short stages: a supervised warm-up on demonstrations, GRPO on the checklist reward, and a control that
spends GRPO's time on more supervised steps. It is the reference for faster trainers, so it is simple everywhere: one
process, one step after another, and every rollout by the current policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch

from palaestra.contamination import Guard
from palaestra.digest import digest
from palaestra.errors import InfrastructureError, TaskError
from palaestra.seeding import Stream
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.data.demonstration import demonstration, render_episode
from palaestra.trainers.data.order import ShuffledOrder
from palaestra.trainers.reference.batch import Sample
from palaestra.trainers.reference.grpo import group_advantages
from palaestra.trainers.reference.learner import OptimiserConfig, ReferenceLearner
from palaestra.trainers.reference.play import ReferenceJob, RolloutConfig, play
from palaestra.trainers.reference.policy import ModelShape, ReferencePolicy, new_model
from palaestra.trainers.reference.stage import ReferenceProgress, StageMetrics
from palaestra.trajectory import Episode, Tokens
from palaestra.transcript import transcript_of


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUpConfig:
    """The settings of the supervised warm-up."""

    format: str = "compact"
    vocabulary: int = 5120
    """The maximum number of tokens of the tokenizer."""
    shape: ModelShape = field(default_factory=ModelShape)
    steps: int = 400
    batch: int = 8
    """The number of demonstrations per step."""
    optimiser: OptimiserConfig = field(default_factory=lambda: OptimiserConfig(lr=3e-3))
    rise: int = 20
    """The number of steps over which the learning rate rises; afterwards it falls linearly to a tenth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceGrpoConfig:
    """The settings of GRPO."""

    steps: int = 16
    """The number of rollout batches."""
    groups: int = 16
    """The number of tasks per step."""
    group_size: int = 8
    """The number of episodes of each task."""
    updates: int = 2
    """The number of optimiser steps on each batch; the clip has an effect only with more than one."""
    clip: float = 0.2
    optimiser: OptimiserConfig = field(default_factory=lambda: OptimiserConfig(lr=2e-4))
    rollouts: RolloutConfig = field(default_factory=RolloutConfig)


class WarmUpStage:
    """The supervised stage: the policy learns to imitate demonstrations.

    Args:
        config: The settings.
        demonstrations: Episodes of an expert, with calls, such as an oracle's.
        seed: The seed of the weights and of the order.

    Raises:
        TaskError: there are no demonstrations.
        ContaminationError: a demonstration belongs to a task on which policies are measured.
    """

    name = "warm-up"
    save_every = 25

    def __init__(self, config: WarmUpConfig, demonstrations: Sequence[Episode], *, seed: int) -> None:
        if not demonstrations:
            raise TaskError("the warm-up has no demonstrations; give a split that lists tasks")
        Guard().check_episodes(demonstrations)
        self._config = config
        self._seed = seed
        self._form = CHAT_FORMATS.get(config.format)
        self._episodes = demonstrations
        self._tokens: list[Tokens] = []
        self._deal = ShuffledOrder(len(demonstrations), size=config.batch, stream=Stream.root(self.name, seed))
        self.optimiser = config.optimiser

    def fingerprint(self) -> str:
        """A hash of the settings, the demonstrations and the seed."""
        return digest([self._config, self._seed, [episode.digest() for episode in self._episodes]])

    def start(self) -> ReferencePolicy:
        """Train a tokenizer on the demonstrations, and create a model with random weights."""
        corpus = [render_episode(transcript_of(episode), self._form) for episode in self._episodes]
        tokenizer = train_tokenizer(corpus, self._form, size=self._config.vocabulary)
        model = new_model(self._config.shape, vocabulary=len(tokenizer), seed=self._seed)
        return ReferencePolicy(model=model, codec=Codec(tokenizer, self._form))

    def share_done(self, progress: ReferenceProgress) -> float:
        """The completed share of the steps."""
        return progress.step / self._config.steps

    def step(self, learner: ReferenceLearner, step: int, done: float) -> StageMetrics:
        """Train on one batch of demonstrations."""
        config = self._config
        lr = config.optimiser.lr * min(1.0, (step + 1) / config.rise) * (1 - 0.9 * done)
        return learner.supervised_step(self._batch(learner.policy.codec, step), lr=lr)

    def _batch(self, codec: Codec, step: int) -> list[Sample]:
        if not self._tokens:
            self._tokens = [demonstration(transcript_of(episode), codec) for episode in self._episodes]
        return [Sample(tokens=self._tokens[place]) for place in self._deal.at(step)]


class ControlStage(WarmUpStage):
    """The control: the warm-up continues for as long as GRPO took, to show the effect of this time without a reward.

    Args:
        config: The warm-up's settings; the learning rate rises again and falls over the whole time.
        demonstrations: The warm-up's demonstrations.
        seed: The seed of the order.
        start: The policy at the end of the warm-up.
        seconds: The duration in seconds.
    """

    name = "control"

    def __init__(
        self,
        config: WarmUpConfig,
        demonstrations: Sequence[Episode],
        *,
        seed: int,
        start: ReferencePolicy,
        seconds: float,
    ) -> None:
        super().__init__(config, demonstrations, seed=seed)
        self._start = start
        self._seconds = seconds

    def fingerprint(self) -> str:
        """A hash of settings, demonstrations, seed and initial policy; the duration is measured, so it is left out."""
        return digest([super().fingerprint(), self._start.digest()])

    def start(self) -> ReferencePolicy:
        """A copy of the warm-up's policy."""
        return self._start.copy()

    def share_done(self, progress: ReferenceProgress) -> float:
        """The elapsed share of the time."""
        return progress.seconds / self._seconds


class GrpoStage:
    """The GRPO stage: the policy acts, the checklist scores it, and actions better than their group's become likelier.

    Args:
        config: The settings.
        env_id: The world.
        tasks: Ids of tasks to learn from, in any order.
        switches: Further arguments of `gymnasium.make`: task files, a surface, a handbook, noise.
        seed: The random seed.
        start: The initial policy.

    Raises:
        TaskError: there are no tasks.
    """

    name = "grpo"
    save_every = 1

    def __init__(
        self,
        config: ReferenceGrpoConfig,
        *,
        env_id: str,
        tasks: Sequence[str],
        switches: Mapping[str, Any] = MappingProxyType({}),
        seed: int,
        start: ReferencePolicy,
    ) -> None:
        if not tasks:
            raise TaskError("GRPO has no task to learn from; give a split that lists tasks")
        self._config = config
        self._env_id = env_id
        self._switches = dict(switches)
        self._tasks = sorted(tasks)
        self._seed = seed
        self._start = start
        self._deal = ShuffledOrder(len(tasks), size=config.groups, stream=Stream.root(self.name, seed))
        self._guard = Guard()
        self.optimiser = config.optimiser

    def fingerprint(self) -> str:
        """A hash of the settings, the tasks, the seed and the initial policy."""
        return digest([self._config, self._env_id, self._switches, self._tasks, self._seed, self._start.digest()])

    def start(self) -> ReferencePolicy:
        """A copy of the initial policy."""
        return self._start.copy()

    def share_done(self, progress: ReferenceProgress) -> float:
        """The completed share of the steps."""
        return progress.step / self._config.steps

    def step(self, learner: ReferenceLearner, step: int, done: float) -> StageMetrics:
        """Play one batch of rollouts, and train on it."""
        del done
        config = self._config
        played = play(
            learner.policy, self._env_id, self._jobs(step), config.rollouts, switches=self._switches, version=step
        )
        self._guard.check_episodes(played[:: config.group_size])
        valid = [(episode, place // config.group_size) for place, episode in enumerate(played)]
        valid = [(episode, group) for episode, group in valid if episode.valid_for_baseline]
        if not valid:
            raise InfrastructureError(
                f"GRPO, step {step}: the world failed in all of {len(played)} episodes, and the last save stands; "
                f"`palaestra check {self._env_id}` may say why"
            )
        returns = torch.tensor([episode.episode_return for episode, _ in valid])
        advantages = group_advantages(returns, torch.tensor([group for _, group in valid]))
        samples = [
            Sample(tokens=_tokens_of(episode), advantage=advantage)
            for (episode, _), advantage in zip(valid, advantages.tolist(), strict=True)
        ]
        updates = self._update(learner, samples, step)
        return {
            "score": returns.mean().item(),
            "solved": sum(episode.score.passed for episode, _ in valid) / len(valid),
            "turns": sum(len(list(episode.turns)) for episode, _ in valid) / len(valid),
            "tokens": sum(len(sample.tokens.ids) for sample in samples) / len(samples),
            "compared": sum(sample.advantage != 0 for sample in samples) / len(samples),
            "faults": float(len(played) - len(valid)),
            **updates,
        }

    def _jobs(self, step: int) -> list[ReferenceJob]:
        tasks = [self._tasks[place] for place in self._deal.at(step)]
        return [
            ReferenceJob(task=task, seed=step, noise=Stream.root(self.name, self._seed, step, place, sample))
            for place, task in enumerate(tasks)
            for sample in range(self._config.group_size)
        ]

    def _update(self, learner: ReferenceLearner, samples: Sequence[Sample], step: int) -> StageMetrics:
        """Take optimiser steps on shares of the batch; return the metrics of the last step."""
        config = self._config
        shuffled = Stream.root(self.name, self._seed, step, "shares").permutation(samples)
        metrics: StageMetrics = {}
        for update in range(config.updates):
            share = shuffled[update :: config.updates]
            compared = [sample for sample in share if sample.advantage != 0]  # the others have no gradient
            if compared:
                metrics = learner.grpo_step(
                    compared,
                    lr=config.optimiser.lr,
                    clip=config.clip,
                    temperature=config.rollouts.temperature,
                    sequences=len(share),
                )
        return metrics


def _tokens_of(episode: Episode) -> Tokens:
    tokens = episode.segments[0].tokens
    assert tokens is not None, "a rollout keeps its tokens"
    return tokens
