"""What Gymnasium asks, what an episode's edges promise, and that observations are plain JSON."""

import warnings
from typing import Any

import gymnasium as gym
import orjson
from gymnasium.utils.env_checker import check_env as gymnasium_check_env

from palaestra.digest import canonical
from palaestra.envs.check.subject import Subject, describe_operation
from palaestra.envs.env import ToolEnv
from palaestra.errors import EpisodeOverError

_LONGEST = 10_000


def check_gymnasium(subject: Subject) -> None:
    """Gymnasium's own checker passes without a warning."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gymnasium_check_env(subject.make(), skip_close_check=True)  # `check_closing` does more
    except (AssertionError, TypeError, AttributeError, gym.error.Error, Warning) as error:
        raise subject.fault(
            f"Gymnasium's checker says: {error}",
            "an environment passes gymnasium.utils.env_checker.check_env without a warning",
            "Mend what it names",
        ) from error


def check_ends(subject: Subject) -> None:
    """`step` raises `EpisodeOverError` before the first reset and after the end."""
    env = subject.make()
    _must_refuse(subject, env, "before the first reset")
    env.reset(seed=subject.seeds[0])
    for _ in range(_LONGEST):
        _, _, terminated, truncated, _ = env.step([])
        if terminated or truncated:
            break
    else:
        raise subject.fault(
            f"{_LONGEST} empty turns did not end the episode",
            "an episode ends at `max_turns` at the latest",
            "Return truncated=True there",
        )
    _must_refuse(subject, env, "after the end")
    env.reset(seed=subject.seeds[0])
    env.step([])


def _must_refuse(subject: Subject, env: ToolEnv, when: str) -> None:
    try:
        env.step([])
    except EpisodeOverError:
        return
    raise subject.fault(
        f"step {when} did not raise",
        "a step outside an episode is the caller's mistake and must not pass for a turn",
        "Raise palaestra.errors.EpisodeOverError",
    )


def check_observations(subject: Subject) -> None:
    """Every observation lies in the space and is plain JSON that survives a round trip."""
    for walk in subject.walks:
        env = subject.make()
        for operation in walk.operations:
            returned: tuple[Any, ...] = env.reset(seed=operation) if isinstance(operation, int) else env.step(operation)
            observation = returned[0]
            if observation not in env.observation_space:
                raise subject.fault(
                    f"{describe_operation(operation)} returned {observation!r:.200}",
                    "an observation lies in env.observation_space",
                    "Return a tuple of messages with a known role and text as content",
                )
            if not _round_trips(observation):
                raise subject.fault(
                    f"{describe_operation(operation)} returned {observation!r:.200}, "
                    "which JSON does not give back as it was",
                    "an observation is plain JSON, so that a log holds what the agent was told",
                    "Use str keys, and str, int, bool, None, finite float, list and dict values",
                )


def _round_trips(observation: Any) -> bool:
    try:
        return bool(orjson.loads(canonical(observation)) == list(observation))
    except TypeError:
        return False
