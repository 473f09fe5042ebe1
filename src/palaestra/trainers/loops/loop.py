"""The interface of a training stage: steps with saves, so that a killed run continues with identical results.

No random state is saved: each draw of step `n` comes from a stream named by the run's seed, the stage and `n`. The
learner works in its own thread, so the event loop can sample tokens meanwhile.
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
"""Makes a learner for a model's weights."""


def starting_policy(start: Policy, learner: LearnerConfig) -> Policy:
    """The stage's initial policy: a copy of the given one, unless its weights are held in 4 bits."""
    return start.frozen() if learner.precision == FOUR_BITS else start


class LearnerThread:
    """The single thread in which the learner works.

    Args:
        threads: The number of threads for arithmetic; torch applies the setting to the thread that works.
    """

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(1, "learner", torch.set_num_threads, (threads,))
        self.begun = 0
        """The number of calls of `do` so far."""

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in the thread and wait for its result."""
        self.begun += 1
        return await asyncio.wrap_future(self._executor.submit(work, *args, **kwargs))

    def close(self) -> None:
        """Stop the thread after its current work."""
        self._executor.shutdown()


class Loop(ABC):
    """What a stage does at each step."""

    name: str
    learner: LearnerConfig
    save: SaveConfig

    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of everything besides the settings that decides the result."""

    @abstractmethod
    def settings(self) -> dict[str, Json]:
        """The stage's settings by their full names, such as "grpo.learner.lr"."""

    @abstractmethod
    def start(self) -> Policy:
        """The stage's initial policy; the stage may change it."""

    @abstractmethod
    def share_done(self, progress: StageProgress) -> float:
        """The completed share of the stage, 0 to 1; the stage ends at 1."""

    @property
    def meter(self) -> CpuMeter:
        """The counter of the stage's processor time; the stage reads it once."""
        return CpuMeter()

    @abstractmethod
    async def open(
        self, policy: Policy, learner: Learner, directory: Path, *, step: int, kept: bytes, held: Mapping[str, Any]
    ) -> None:
        """Prepare step number `step`.

        Args:
            policy: The policy whose weights `learner` trains.
            learner: The learner as it was after the previous step.
            directory: The stage's folder, for its logs.
            step: The number of the next step.
            kept: The result of `keep` before that step; empty at the start.
            held: The result of `hold` before that step.
        """

    @abstractmethod
    async def step(self, thread: LearnerThread, step: int, done: float) -> Metrics:
        """Take step number `step`; `done` is the completed share of the stage."""

    def doing(self) -> str:
        """A phrase for the current activity."""
        return "training"

    def events(self) -> list[StageEvent]:
        """The events since the last call."""
        return []

    def keep(self) -> bytes:
        """State to save besides model and optimiser, as one JSON document; empty if there is none."""
        return b""

    def hold(self) -> dict[str, Any]:
        """Tensors to save besides the learner's; empty if there are none."""
        return {}

    async def close(self) -> None:  # noqa: B027  most have nothing to free
        """Free what `open` acquired; called once, also after an error."""
