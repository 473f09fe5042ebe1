"""Supervised fine-tuning: the policy is trained to write the text of demonstrations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from palaestra.contamination import Guard
from palaestra.digest import digest
from palaestra.errors import TaskError
from palaestra.records import Json
from palaestra.seeding import Stream
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.demonstration import demonstration
from palaestra.trainers.data.flatten import flatten_tokens
from palaestra.trainers.data.order import Share, WeightedDeal
from palaestra.trainers.learner import Learner
from palaestra.trainers.loops.imitation_config import SftConfig
from palaestra.trainers.loops.loop import LearnerThread, Loop, starting_policy
from palaestra.trainers.loops.saves import StageProgress
from palaestra.trainers.loops.setting_classes import flat_settings, setting_prefix
from palaestra.trainers.objectives import Metrics, SupervisedObjective
from palaestra.trainers.policy import Policy
from palaestra.trajectory import Episode
from palaestra.transcript import transcript_of


class SftLoop(Loop):
    """Each step trains on a batch of demonstrations.

    Args:
        config: The stage's settings.
        demonstrations: Demonstration episodes with tool calls.
        seed: Random seed of the order.
        start: The initial policy; it is copied.
        name: The stage's name; the order depends on it.
        guard: Refuses demonstrations of tasks that policies are measured on.
        shares: The number of demonstrations of each world, and its weight. Default: all are of one world.

    Raises:
        TaskError: there are no demonstrations.
        ContaminationError: a demonstration is of a task that policies are measured on.
    """

    def __init__(
        self,
        config: SftConfig,
        demonstrations: Sequence[Episode],
        *,
        seed: int,
        start: Policy,
        name: str = "sft",
        guard: Guard | None = None,
        shares: Sequence[Share] = (),
    ) -> None:
        if not demonstrations:
            raise TaskError(f"{name} has no demonstrations; give a split that lists tasks, or a file of episodes")
        (guard or Guard()).check_episodes(demonstrations)
        self.name = name
        self.learner = config.learner
        self.save = config.save
        self._config = config
        self._episodes = demonstrations
        self._seed = seed
        self._start = starting_policy(start, config.learner)
        self._objective = SupervisedObjective()
        self._shares = tuple(shares) or (Share(count=len(demonstrations), weight=1.0),)
        self._deal = WeightedDeal(self._shares, size=config.batch, stream=Stream.root(name, seed))

    def fingerprint(self) -> str:
        """A hash of the demonstrations, the seed and the initial policy."""
        parts = [self.name, self._seed, [episode.digest() for episode in self._episodes]]
        return digest([*parts, self._start.digest(), *([self._shares] if len(self._shares) > 1 else [])])

    def settings(self) -> dict[str, Json]:
        """See `Loop`."""
        dumped = TypeAdapter(SftConfig).dump_python(self._config, mode="json")
        return flat_settings(dumped, SftConfig, setting_prefix(self.name, "sft"))

    def start(self) -> Policy:
        """The initial policy: a copy, unless it is frozen and adapters are trained."""
        return self._start if self.learner.lora is not None else self._start.copy()

    def share_done(self, progress: StageProgress) -> float:
        """The completed share of the steps, or of the time if that ends the stage."""
        if self._config.cpu_seconds is not None:
            return progress.cpu_seconds / self._config.cpu_seconds
        return progress.step / self._config.steps

    async def open(
        self, policy: Policy, learner: Learner, directory: Path, *, step: int, kept: bytes, held: Mapping[str, Any]
    ) -> None:
        """Tokenise the demonstrations, each once."""
        del directory, step, kept, held
        self._learning = learner
        self._tokens = [demonstration(transcript_of(episode), policy.codec) for episode in self._episodes]

    async def step(self, thread: LearnerThread, step: int, done: float) -> Metrics:
        """Train on one batch of demonstrations."""
        lr = self.learner.lr * min(1.0, (step + 1) / max(1, self._config.warmup_steps)) * (1 - 0.9 * done)
        return await thread.do(self._learning.step, self._objective.prepare(self._batch(step)), lr=lr)

    def _batch(self, step: int) -> TokenBatch:
        return flatten_tokens([self._tokens[place] for place in self._deal.at(step)])
