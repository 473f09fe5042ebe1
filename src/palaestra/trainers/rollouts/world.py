"""A world as the pool sees it: somewhere, slow perhaps, and apt to fail."""

from abc import ABC, abstractmethod
from itertools import chain
from math import isfinite
from typing import Any, Literal, TypeAlias

from palaestra.errors import ReplyError
from palaestra.records import EndReason
from palaestra.steps import AgentView, ResetRecord
from palaestra.trajectory import Episode

Method: TypeAlias = Literal["reset", "step", "stop", "episode"]
"""What a world is asked; each is a method of `HostedEnv`, which stands at the other end."""


class RolloutWorld(ABC):
    """One environment, playing one episode after the other. Where it runs is all that one kind differs in."""

    @abstractmethod
    async def ask(self, method: Method, *arguments: Any) -> Any:
        """Have whoever hosts the environment do this, and give what came of it. Any: by the method."""

    @abstractmethod
    async def close(self) -> None:
        """Free it, whatever it is doing. Closing twice is fine."""

    async def reset(self, task: str, seed: int) -> ResetRecord:
        """Begin an episode.

        Raises:
            InfrastructureError: the world failed; it can be tried again in another one.
            UnknownNameError: there is no such task.
        """
        opening: ResetRecord = await self.ask("reset", task, seed)
        return opening

    async def step(self, text: str) -> AgentView:
        """Take one turn, in the policy's own words.

        Raises:
            InfrastructureError: the world failed, and the episode is void.
        """
        view: AgentView = await self.ask("step", text)
        return view

    async def stop(self, reason: EndReason) -> None:
        """End the episode from outside, for a budget that the world does not know; its score stands as it is."""
        await self.ask("stop", reason)

    async def episode(self) -> Episode:
        """The episode so far, without tokens; after a fault, what there was until then, not valid for a baseline.

        Raises:
            InfrastructureError: the world is gone, and the episode with it.
            ReplyError: it paid what is no finite number.
        """
        episode: Episode = await self.ask("episode")
        check_finite(episode)
        return episode


def check_finite(episode: Episode) -> None:
    """Refuse an episode that was paid or scored with NaN or infinity: one such reward makes a whole step worthless.

    Raises:
        ReplyError: the message names the first such number.
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
    """Where worlds come from: this process, others, or other machines."""

    @abstractmethod
    async def open(self) -> RolloutWorld:
        """A fresh world.

        Raises:
            InfrastructureError: there is none to be had.
        """

    @abstractmethod
    async def close(self) -> None:
        """Free everything, worlds that are still open included. Closing twice is fine."""
