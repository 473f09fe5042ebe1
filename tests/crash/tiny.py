"""Training that takes a second, and is training: rewards of what GRPO draws differ, and it learns from them."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

import gymnasium as gym

from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.errors import InfrastructureError
from palaestra.protocols import Action
from palaestra.records import Message
from palaestra.trainers.reference import (
    GrpoStage,
    ModelShape,
    OptimiserConfig,
    ReferenceGrpoConfig,
    ReferencePolicy,
    ReferenceProgress,
    RolloutConfig,
    WarmUpConfig,
    WarmUpStage,
)
from palaestra.trainers.reference.learner import ReferenceLearner
from palaestra.trainers.reference.stage import StageMetrics
from palaestra.trajectory import Episode
from worlds.registration import LIBRARY_ID

SHAPE = ModelShape(hidden=32, layers=1, heads=1, kv_heads=1, head_dim=32, mlp=64, context=512)
WARM_UP = WarmUpConfig(vocabulary=600, shape=SHAPE, steps=30, batch=4, optimiser=OptimiserConfig(lr=0.02), rise=2)
GRPO = ReferenceGrpoConfig(steps=4, groups=2, group_size=4, rollouts=RolloutConfig(context=400, turn=24))
FAILING_ID = "test/FailingLibrary-v0"
History: TypeAlias = list[StageMetrics]


def world() -> ToolEnv:
    """The library."""
    env = gym.make(LIBRARY_ID).unwrapped
    assert isinstance(env, ToolEnv)
    return env


@cache
def demonstrations() -> tuple[Episode, ...]:
    """The oracle's episodes on the library's training split."""
    env = world()
    expert = oracle(env.oracle)
    return tuple(rollout(env, expert, name="oracle", seed=0, task=task) for task in env.task_set.ids("train"))


def history(progress: ReferenceProgress) -> History:
    """Every figure of a stage but the time that it took."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in progress.history]


class Stopped(Exception):  # noqa: N818  it is what a person does, not a fault
    """Somebody interrupted the training."""


class TinyWarmUp(WarmUpStage):
    """A warm-up of `steps` steps, saved after every `save_every`; interrupted before step number `stop`."""

    def __init__(
        self, *, steps: int = WARM_UP.steps, save_every: int = 1, seed: int = 0, stop: int | None = None
    ) -> None:
        super().__init__(replace(WARM_UP, steps=steps), demonstrations(), seed=seed)
        self.save_every = save_every
        self._stop = stop

    def step(self, learner: ReferenceLearner, step: int, done: float) -> StageMetrics:
        if step == self._stop:
            raise Stopped
        return super().step(learner, step, done)


class TinyGrpo(GrpoStage):
    """GRPO on the library's training split, saved after every step; interrupted before step number `stop`."""

    def __init__(
        self, start: ReferencePolicy, *, config: ReferenceGrpoConfig = GRPO, seed: int = 0, stop: int | None = None
    ) -> None:
        tasks = world().task_set.ids("train")
        super().__init__(config, env_id=LIBRARY_ID, tasks=tasks, seed=seed, start=start)
        self._stop = stop

    def step(self, learner: ReferenceLearner, step: int, done: float) -> StageMetrics:
        if step == self._stop:
            raise Stopped
        return super().step(learner, step, done)


class Failing(ToolEnv):
    """The library, which fails in the first turn of every `lend-book` whose seed is odd."""

    _fails = False

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Message, ...], dict[str, Any]]:
        observation, info = super().reset(seed=seed, options=options)
        self._fails = bool(seed and seed % 2) and info["task"].family == "library/lend-book"
        return observation, info

    def step(self, action: Action) -> tuple[tuple[Message, ...], float, bool, bool, dict[str, Any]]:
        if self._fails:
            raise InfrastructureError("the disk is gone")
        return super().step(action)


if FAILING_ID not in gym.registry:
    gym.register(  # pyright: ignore[reportUnknownMemberType]
        FAILING_ID,
        entry_point="crash.tiny:Failing",
        kwargs={"env_id": LIBRARY_ID},
        disable_env_checker=True,
        order_enforce=False,
    )
