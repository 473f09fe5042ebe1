"""The interface of evaluated agents, and the two ways in which they play.

Agents that answer one request after another play episode by episode. Palaestra's policies sample the turns of many
episodes at once, and the last bits of the results depend on which episodes are together. So they play fixed blocks of
episodes, each whole or not at all.
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
"""The mark in an agent's description that it forks its world, so that it is not ranked with others."""
CUT_OFF = "cut off"
"""The name of the trouble that a token limit ended a turn."""


@record
class EpisodeCost:
    """The cost of an episode, and what went wrong in it."""

    prompt_tokens: int | None = None
    """Tokens read over all requests; `None` if not counted."""
    completion_tokens: int | None = None
    troubles: Mapping[str, int] = field(default_factory=dict[str, int])
    """Counts by name."""

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
    """The result for an episode key: an episode, or a fault after all tries."""

    episode_key: EpisodeKey
    came: Episode | EpisodeFault
    spent: EpisodeCost
    begun: bool = True
    """Whether the world reached its first observation; if not, the fault is the world's."""


class NoReferenceSolution(Exception):  # noqa: N818  it becomes a fault
    """The task has no reference solution, which the agent would have played."""


class AgentSession:
    """An agent in one episode.

    Args:
        agent: The agent that acts.
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def offer(self, tools: Sequence[JsonSchema]) -> None:
        """Tell the agent that the world has changed its tools; scripted agents ignore it."""

    def has_delay(self) -> bool:
        """Whether something other than the agent took some of the episode's time, such as a server's failed tries."""
        return False

    def cost(self) -> EpisodeCost:
        """The cost of the episode so far."""
        return EpisodeCost()


class EvaluatedAgent(ABC):
    """An agent under evaluation."""

    name: str
    """The name in reports."""

    @abstractmethod
    def describe(self) -> JsonObject:
        """Everything that decides how the agent plays: its kind and settings, without secrets."""

    def versions(self) -> Mapping[str, str]:
        """The versions of software that decides how the agent plays."""
        return {}

    def close(self) -> None:  # noqa: B027  most hold nothing
        """Free all resources. Closing twice is allowed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class EvaluatedEpisodeAgent(EvaluatedAgent):
    """An agent that plays episodes independently, one or several at a time."""

    proved = True
    """Whether it has shown that it can answer; an evaluation stops if it never does."""

    @abstractmethod
    def seat(self, env: Env, left: Callable[[], float]) -> AgentSession:
        """The agent for an episode that has just begun in `env`.

        Args:
            env: The world, for agents that may use it.
            left: Returns the seconds left of the episode's time.

        Raises:
            ConfigError: the agent can never play this task.
        """


class EvaluatedBlockAgent(EvaluatedAgent):
    """An agent that plays many episodes together."""

    block: int
    """The number of episodes played together."""

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
            cell: The cell.
            episode_keys: The episodes, all of this cell.
            progress: Called with the task of each finished episode.
            say: Called with every fault.

        Returns:
            The attempt of each, in order.
        """
