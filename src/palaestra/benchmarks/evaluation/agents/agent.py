"""What every agent under evaluation says of itself, and the two ways in which they play.

Agents that answer one question after the other play episode by episode. Policies of ours draw the turns of many
episodes at once, and the last bits of what they draw depend on which; so they play blocks of episodes, always the same
ones together, and a block is played whole or not at all.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Self

from palaestra.agents import Env
from palaestra.benchmarks.evaluation.episode_key import EpisodeKey
from palaestra.benchmarks.evaluation.outcome import EpisodeFault
from palaestra.benchmarks.evaluation.suite import Cell
from palaestra.protocols import Agent
from palaestra.record import record
from palaestra.records import JsonObject, JsonSchema
from palaestra.trajectory import Episode

PRIVILEGED = "privileged"
"""In what an agent says of itself: it forks the world that it is measured in, so nobody ranks it beside others."""
CUT_OFF = "cut off"
"""The trouble that a limit of tokens ended a turn."""


@record
class EpisodeCost:
    """What an episode took, and what went wrong in it."""

    prompt_tokens: int | None = None
    """Read, over all requests; `None` where nobody counts."""
    completion_tokens: int | None = None
    troubles: Mapping[str, int] = field(default_factory=dict[str, int])
    """By name."""

    def __add__(self, other: "EpisodeCost") -> "EpisodeCost":
        troubles = Counter(self.troubles) + Counter(other.troubles)
        return EpisodeCost(
            prompt_tokens=_sum(self.prompt_tokens, other.prompt_tokens),
            completion_tokens=_sum(self.completion_tokens, other.completion_tokens),
            troubles={name: troubles[name] for name in sorted(troubles)},
        )


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


@record
class Attempt:
    """What came of a slot: an episode, or a fault after every try."""

    episode_key: EpisodeKey
    came: Episode | EpisodeFault
    spent: EpisodeCost
    begun: bool = True
    """Whether the world came to its first observation; it is the world's fault where not."""


class NoReferenceSolution(Exception):  # noqa: N818  it becomes a fault
    """The task has no solution of its own, which is what the agent would have played."""


class AgentSession:
    """An agent in one episode.

    Args:
        agent: Who acts.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def offer(self, tools: Sequence[JsonSchema]) -> None:
        """The world has changed its tools; agents that follow a script do not mind."""

    def has_delay(self) -> bool:
        """Whether something that is not the agent took some of the episode's time, such as a server's failed tries."""
        return False

    def cost(self) -> EpisodeCost:
        """What the episode has taken so far."""
        return EpisodeCost()


class EvaluatedAgent(ABC):
    """An agent under evaluation."""

    name: str
    """In reports."""

    @abstractmethod
    def describe(self) -> JsonObject:
        """All that decides how it plays: the kind, and its settings. No secret is in it."""

    def versions(self) -> Mapping[str, str]:
        """Of what it is made with, where that decides how it plays."""
        return {}

    def close(self) -> None:  # noqa: B027  most hold nothing
        """Free what it holds. Closing twice is fine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class EvaluatedEpisodeAgent(EvaluatedAgent):
    """An agent that plays one episode, or several side by side, each by itself."""

    proved = True
    """Whether it has shown that it can be asked at all; an evaluation stops where it never does."""

    @abstractmethod
    def seat(self, env: Env, left: Callable[[], float]) -> AgentSession:
        """The agent for an episode that has just begun in `env`.

        Args:
            env: The world, for agents that are trusted with it.
            left: Seconds that are left of the episode's time.

        Raises:
            ConfigError: it cannot play this task, whatever one does.
        """


class EvaluatedBlockAgent(EvaluatedAgent):
    """An agent that plays many episodes together."""

    block: int
    """Episodes that are played together."""

    @abstractmethod
    def play(
        self,
        cell: Cell,
        episode_keys: Sequence[EpisodeKey],
        *,
        progress: Callable[[str], None],
        say: Callable[[str], None],
    ) -> list[Attempt]:
        """Play a block.

        Args:
            cell: The world as it is made.
            episode_keys: The episodes, all of that cell.
            progress: Told the task of each that has ended.
            say: Told of every fault.

        Returns:
            What came of each, in order.
        """
