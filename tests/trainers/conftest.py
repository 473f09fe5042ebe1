"""Policies small enough for a test: two worlds, two formats, one thread."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeAlias

import gymnasium as gym
import pytest
import torch

from palaestra.agents import oracle, rollout
from palaestra.envs import ToolEnv
from palaestra.records import Message
from palaestra.steps import ResetRecord
from palaestra.tools import CHAT_FORMATS
from palaestra.trainers.codec import Codec, train_tokenizer
from palaestra.trainers.data.demonstration import demonstration, render_episode
from palaestra.trainers.reference.batch import Sample
from palaestra.trainers.reference.learner import OptimiserConfig, ReferenceLearner
from palaestra.trainers.reference.policy import ModelShape, ReferencePolicy, new_model
from palaestra.trajectory import Episode
from palaestra.transcript import transcript_of
from worlds.registration import LIBRARY_ID

STOREFRONT_ID, TERSE_ID = "palaestra/Storefront-v0", "test/TerseLibrary-v0"
SHAPE = ModelShape(hidden=32, layers=2, heads=2, kv_heads=1, head_dim=16, mlp=64, context=8192)
NARROW = ModelShape(hidden=16, layers=1, heads=2, kv_heads=1, head_dim=8, mlp=32, context=4096)


class Terse(ToolEnv):
    """Shows the schemas of two tools alone; the others can be called all the same."""

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Message, ...], dict[str, Any]]:
        _, info = super().reset(seed=seed, options=options)
        opening: ResetRecord = info["record"]
        return replace(opening, tools=(opening.tools[0], opening.tools[-1])).to_gymnasium()


def _terse(**kwargs: Any) -> Terse:
    return Terse(LIBRARY_ID, max_turns=4, **kwargs)


PolicyFactory: TypeAlias = Callable[[str], ReferencePolicy]


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def terse_id() -> str:
    """The library with episodes of four turns at most and few schemas: a thousand of them cost seconds."""
    if TERSE_ID not in gym.registry:
        gym.register(  # pyright: ignore[reportUnknownMemberType]
            TERSE_ID,
            entry_point=_terse,
            disable_env_checker=True,
            order_enforce=False,
        )
    return TERSE_ID


@pytest.fixture(scope="session")
def episodes() -> tuple[Episode, ...]:
    """A dozen of the storefront's, of several families, played by the oracle."""
    return _played(STOREFRONT_ID, 12)


@pytest.fixture(scope="session")
def make_policy(episodes: Sequence[Episode]) -> PolicyFactory:
    """A policy with fresh weights that reads and writes the storefront in the format of the given name."""

    def make(name: str) -> ReferencePolicy:
        return _fresh(episodes, name, size=1500, shape=SHAPE)

    return cache(make)


@pytest.fixture(scope="session", params=["compact", "qwen"])
def policy(request: pytest.FixtureRequest, make_policy: PolicyFactory) -> ReferencePolicy:
    """Of each format."""
    return make_policy(request.param)


@pytest.fixture(scope="session")
def compact(make_policy: PolicyFactory) -> ReferencePolicy:
    return make_policy("compact")


@pytest.fixture(scope="session")
def tasks(terse_id: str) -> tuple[str, ...]:
    """The terse library's."""
    world: Any = gym.make(terse_id).unwrapped
    return tuple(world.task_set.ids("train"))


@pytest.fixture(scope="session")
def make_clerk(terse_id: str) -> PolicyFactory:
    """A policy that has seen the terse library's oracle for a few steps: it ends turns and makes calls, some right."""

    def make(name: str) -> ReferencePolicy:
        seen = _played(terse_id, 8)
        policy = _fresh(seen, name, size=700, shape=NARROW)
        learner = ReferenceLearner(policy, OptimiserConfig(lr=1e-2, micro_tokens=4096))
        samples = [Sample(tokens=demonstration(transcript_of(episode), policy.codec)) for episode in seen]
        for _ in range(60):
            learner.supervised_step(samples, lr=1e-2)
        return policy

    return cache(make)


@pytest.fixture(scope="session", params=["compact", "qwen"])
def clerk(request: pytest.FixtureRequest, make_clerk: PolicyFactory) -> ReferencePolicy:
    """Of each format."""
    return make_clerk(request.param)


def _played(env_id: str, count: int) -> tuple[Episode, ...]:
    env = gym.make(env_id)
    world: Any = env.unwrapped
    ids = world.task_set.ids("train")
    chosen = ids[:: max(1, len(ids) // count)][:count]
    return tuple(rollout(env, oracle(world.oracle), name="oracle", seed=0, task=task) for task in chosen)


def _fresh(seen: Sequence[Episode], name: str, *, size: int, shape: ModelShape) -> ReferencePolicy:
    form = CHAT_FORMATS.get(name)
    tokenizer = train_tokenizer([render_episode(transcript_of(episode), form) for episode in seen], form, size=size)
    model = new_model(shape, vocabulary=len(tokenizer), seed=0)
    return ReferencePolicy(model=model.eval(), codec=Codec(tokenizer, form))
