"""A world as the pool sees it: somewhere, slow perhaps, and apt to fail."""

from abc import ABC, abstractmethod

from palaestra.record import record
from palaestra.records import EndReason, JsonObject, Message
from palaestra.trajectory import Episode


@record
class EpisodeOpening:
    """What a new episode shows the policy."""

    observation: tuple[Message, ...]
    tools: tuple[JsonObject, ...]


@record
class TurnAnswer:
    """What came of a turn."""

    observation: tuple[Message, ...]
    over: bool
    """Whether the episode has ended."""


class RolloutWorld(ABC):
    """One environment, playing one episode after the other."""

    @abstractmethod
    async def reset(self, task: str, seed: int) -> EpisodeOpening:
        """Begin an episode.

        Raises:
            InfrastructureError: the world failed; it can be tried again in another one.
            UnknownNameError: there is no such task.
        """

    @abstractmethod
    async def step(self, text: str) -> TurnAnswer:
        """Take one turn, in the policy's own words.

        Raises:
            InfrastructureError: the world failed, and the episode is void.
        """

    @abstractmethod
    async def stop(self, reason: EndReason) -> None:
        """End the episode from outside, for a budget that the world does not know; its score stands as it is."""

    @abstractmethod
    async def episode(self) -> Episode:
        """The episode so far, without tokens; after a fault, what there was until then, not valid for a baseline.

        Raises:
            InfrastructureError: the world is gone, and the episode with it.
        """

    @abstractmethod
    async def close(self) -> None:
        """Free it, whatever it is doing. Closing twice is fine."""


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
