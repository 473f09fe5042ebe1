"""The interface between the pool and a world, which may run anywhere, be slow, and fail."""

from abc import ABC, abstractmethod
from itertools import chain
from math import isfinite
from typing import Any, Literal, TypeAlias

from palaestra.errors import ReplyError
from palaestra.records import EndReason
from palaestra.steps import AgentView, ResetRecord
from palaestra.trajectory import Episode

Method: TypeAlias = Literal["reset", "step", "stop", "episode"]
"""The calls of a world; each is a method of `HostedEnv` at the other end."""


class RolloutWorld(ABC):
    """One environment, which plays one episode after another. Subclasses differ only in where it runs."""

    @abstractmethod
    async def ask(self, method: Method, *arguments: Any) -> Any:
        """Call a method of the hosted environment, and return its result. Any: the method decides the type."""

    @abstractmethod
    async def close(self) -> None:
        """Free the world, whatever it is doing. A second call has no effect."""

    async def reset(self, task: str, seed: int) -> ResetRecord:
        """Begin an episode.

        Raises:
            InfrastructureError: the world failed; the episode can be tried again in another world.
            UnknownNameError: there is no such task.
        """
        opening: ResetRecord = await self.ask("reset", task, seed)
        return opening

    async def step(self, text: str) -> AgentView:
        """Take one turn, given as the policy's text.

        Raises:
            InfrastructureError: the world failed; the episode is void.
        """
        view: AgentView = await self.ask("step", text)
        return view

    async def stop(self, reason: EndReason) -> None:
        """End the episode from outside, for a budget that the world does not know; the current score stays."""
        await self.ask("stop", reason)

    async def episode(self) -> Episode:
        """The episode so far, without tokens; after a fault, the part before it, not valid for a baseline.

        Raises:
            InfrastructureError: the world is gone, and with it the episode.
            ReplyError: a reward or score is not a finite number.
        """
        episode: Episode = await self.ask("episode")
        check_finite(episode)
        return episode


def check_finite(episode: Episode) -> None:
    """Refuse an episode with NaN or infinity as a reward or score: one such number makes a whole step worthless.

    Raises:
        ReplyError: there is such a number; the message names the first.
    """
    rewards = ((f"the reward of turn {n}", turn.reward) for n, turn in enumerate(episode.turns, 1))
    layers = (
        (f"the {layer} points of turn {n}", points)
        for n, turn in enumerate(episode.turns, 1)
        for layer, points in turn.components.items()
    )
    score = (("the score", episode.score.points), ("the score's total", episode.score.total))
    for name, number in chain(rewards, layers, score):
        if not isfinite(number):
            raise ReplyError(
                f"{name} of {episode.task.id} is {number}; rewards are finite numbers. Mend the environment: until "
                "then its episode counts neither as a success nor as a failure"
            )


class RolloutWorlds(ABC):
    """A source of worlds: in this process, in others, or on other machines."""

    @abstractmethod
    async def open(self) -> RolloutWorld:
        """Open a fresh world.

        Raises:
            InfrastructureError: no world can be opened.
        """

    @abstractmethod
    async def close(self) -> None:
        """Free everything, open worlds included. A second call has no effect."""
