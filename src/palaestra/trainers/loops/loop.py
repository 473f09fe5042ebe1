"""A stage of training: steps that are saved as they go, so that a killed run goes on as if it had not been killed.

Nothing random is saved, because nothing random has a state: every draw of step `n` comes from a stream that is named by
the run's seed, the stage and `n`. The learner works in a thread of its own, so that whatever else the event loop does,
such as drawing tokens, goes on meanwhile.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

import torch

from palaestra.records import Json
from palaestra.trainers.device import FOUR_BITS
from palaestra.trainers.learner import Learner, LearnerConfig
from palaestra.trainers.loops.cpu_meter import CpuMeter
from palaestra.trainers.loops.saves import (
    SaveConfig,
    StageProgress,
)
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.monitors import StageEvent
from palaestra.trainers.objectives import Metrics
from palaestra.trainers.policy import Policy

P = ParamSpec("P")
T = TypeVar("T")


MakeLearner: TypeAlias = Callable[[Decoder, LearnerConfig], Learner]
"""Makes a learner of a model's weights."""


def starting_policy(start: Policy, learner: LearnerConfig) -> Policy:
    """The policy that a stage begins with: the one that it is given, but for weights that are held in 4 bits."""
    return start.frozen() if learner.precision == FOUR_BITS else start


class LearnerThread:
    """The one thread that the learner works in.

    Args:
        threads: Of the arithmetic; the setting belongs to the thread that works.
    """

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(1, "learner", torch.set_num_threads, (threads,))
        self.begun = 0
        """How often it was given work."""

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do `work` there and wait for it."""
        self.begun += 1
        return await asyncio.wrap_future(self._executor.submit(work, *args, **kwargs))

    def close(self) -> None:
        """End it, when what it is doing is done."""
        self._executor.shutdown()


class Loop(ABC):
    """What a stage does at each step."""

    name: str
    learner: LearnerConfig
    save: SaveConfig

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of everything that decides the result beside the settings."""

    @abstractmethod
    def settings(self) -> dict[str, Json]:
        """The stage's settings by their full names, such as "grpo.learner.lr"."""

    @abstractmethod
    def start(self) -> Policy:
        """The policy that the stage begins with; the stage may change it."""

    @abstractmethod
    def share_done(self, progress: StageProgress) -> float:
        """How much of the stage is done, 0 to 1; it ends at 1."""

    @property
    def meter(self) -> CpuMeter:
        """What counts the stage's processor time; the stage reads it once."""
        return CpuMeter()

    @abstractmethod
    async def open(
        self, policy: Policy, learner: Learner, directory: Path, *, step: int, kept: bytes, held: Mapping[str, Any]
    ) -> None:
        """Make ready for step number `step`.

        Args:
            policy: Whose weights `learner` trains.
            learner: As it was after the step before.
            directory: Where the stage may keep logs.
            step: The first that will be taken.
            kept: What `keep` gave when that step was next; empty at the beginning.
            held: And what `hold` gave.
        """

    @abstractmethod
    async def step(self, thread: LearnerThread, step: int, done: float) -> Metrics:
        """Take step number `step`, with `done` of the stage behind it."""

    def doing(self) -> str:
        """What it is doing now, in a phrase."""
        return "training"

    def events(self) -> list[StageEvent]:
        """What has happened since this was last asked."""
        return []

    def keep(self) -> bytes:
        """What has to be saved beside model and optimiser, as one JSON document; empty where nothing has."""
        return b""

    def hold(self) -> dict[str, Any]:
        """Tensors that have to be saved beside the learner's; none where nothing has."""
        return {}

    async def close(self) -> None:  # noqa: B027  most have nothing to free
        """Free what `open` took; called once, also after an error."""
