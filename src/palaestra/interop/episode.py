"""An episode for another framework's interface: what a policy may see, and the score."""

from collections.abc import Callable
from math import isnan
from typing import Any, TypeAlias

from palaestra.agents import Env
from palaestra.errors import ConfigError, EpisodeOverError, InfrastructureError
from palaestra.protocols import Action
from palaestra.records import EndReason, JsonSchema, Message

EnvMaker: TypeAlias = Callable[[], Env]
"""Makes an environment: a function, or an `EnvSource`."""
FULL_POINTS = 100
"""The points of a solved task."""


class AdaptedEpisode:
    """Episodes of one environment, one after another, without anything that a policy must not see.

    Args:
        env: An environment in this process (`palaestra.make`) or on a server (`palaestra.connect`) that shows rewards.

    Attributes:
        env: The environment.
        tools: The schemas of the tools that are offered now.
        end: Why the episode ended; `None` while it runs.
        fault: How the world failed, if it did; the episode is then void.
    """

    def __init__(self, env: Env) -> None:
        self.env = env
        self.tools: tuple[JsonSchema, ...] = ()
        self.end: EndReason | None = None
        self.fault: InfrastructureError | None = None
        self._points: float | None = None

    def begin(self, *, seed: int, task: str | None = None) -> tuple[Message, ...]:
        """Begin an episode.

        Args:
            seed: The seed of the episode.
            task: The task's id or handle; `None` lets the seed draw one.

        Returns:
            The opening messages.

        Raises:
            InfrastructureError: the world failed; the episode is void.
        """
        self.end, self.fault, self._points = None, None, None
        try:
            messages, info = self.env.reset(seed=seed, options={"task": task} if task else None)
        except InfrastructureError as error:
            self.fault = error
            raise
        self.tools = tuple(info["tools"])
        self._points = 0.0
        return messages

    @property
    def is_over(self) -> bool:
        """Whether no further turn can be taken."""
        return self.end is not None or self.fault is not None or self._points is None

    def act(self, action: Action) -> tuple[Message, ...]:
        """Take one turn.

        Args:
            action: A call, an assistant's message in OpenAI's form, the calls of one turn, or a model's raw text.

        Returns:
            The messages that are new to the agent.

        Raises:
            EpisodeOverError: no episode has begun, or it has ended.
            InfrastructureError: the world failed; the episode is void.
        """
        self._check_playable()
        try:
            messages, reward, _, _, info = self.env.step(action)
        except InfrastructureError as error:
            self.fault = error
            raise
        assert self._points is not None, "the episode is playable"
        self._points += float(reward)
        self.end = info["end"]
        if info.get("tools") is not None:
            self.tools = tuple(info["tools"])
        return messages

    def reward(self) -> float:
        """The score as a share of `FULL_POINTS`: 1.0 for a solved task, below 0 if harm was done.

        A running episode is ended here like one with a spent budget, because the framework does not continue it.

        Raises:
            ConfigError: the session hides rewards.
            EpisodeOverError: no episode has begun.
            InfrastructureError: the world failed; the episode is void.
        """
        if self.fault is not None:
            raise self.fault
        if self._points is None:
            raise EpisodeOverError("there is no episode; begin one")
        if self.end is None:
            self._points = self._end_from_outside(EndReason.TOKEN_BUDGET)
            self.end = EndReason.TOKEN_BUDGET
        if isnan(self._points):
            raise ConfigError("the session hides rewards; make it with a key for authors, or serve with --show-reward")
        return self._points / FULL_POINTS

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def _check_playable(self) -> None:
        if self.fault is not None:
            raise EpisodeOverError(f"the episode is void: {self.fault}")
        if self._points is None or self.end is not None:
            raise EpisodeOverError("the episode is over; begin another")

    def _end_from_outside(self, reason: EndReason) -> float:
        # Any: only the caller knows what Palaestra's environments add to Gymnasium's interface.
        world: Any = self.env.unwrapped
        try:
            if hasattr(world, "end_episode"):  # on a server, which counts the episode
                points: int | None = world.end_episode(reason)
                return float("nan") if points is None else float(points)
            return float(world.score(reason).points)
        except InfrastructureError as error:
            self.fault = error
            raise
