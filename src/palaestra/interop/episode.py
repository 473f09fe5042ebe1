"""An episode behind another framework's interface: what a policy may see of it, and what it is worth."""

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
    """Episodes of one environment, one after the other, without anything that a policy must not see.

    Args:
        env: In process (`palaestra.make`) or on a server (`palaestra.connect`), where the session shows rewards.

    Attributes:
        env: The environment.
        tools: The schemas of the tools on offer now.
        end: Why the episode ended; `None` while it runs.
        fault: How the world failed, where it did; the episode is void.
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
            seed: Of the episode.
            task: The task's id or handle; `None` lets the seed draw one.

        Returns:
            The messages that open it.

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
            action: A call, a message of the assistant's as OpenAI has it, calls of one turn, or a model's raw text.

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
        """The score as a share of `FULL_POINTS`: 1.0 for a solved task, less than 0 where harm was done.

        An episode that still runs is ended here, as one whose budget is spent: the framework plays it no further.

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
        # Any: what Palaestra's environments add to Gymnasium's interface is known to those who make them alone.
        world: Any = self.env.unwrapped
        try:
            if hasattr(world, "end_episode"):  # on a server, which keeps the account
                points: int | None = world.end_episode(reason)
                return float("nan") if points is None else float(points)
            return float(world.score(reason).points)
        except InfrastructureError as error:
            self.fault = error
            raise
