"""Proposers of actions for a search: an agent, or random legal calls."""

from collections.abc import Callable, Sequence
from typing import Any

from palaestra.agents.search.agent import Branch
from palaestra.protocols import Action, Agent
from palaestra.records import JsonSchema
from palaestra.seeding import Stream


class LegalProposer:
    """Proposes random calls that fit their schemas, with ids that exist."""

    def __call__(self, branch: Branch, count: int, stream: Stream) -> Sequence[Action]:
        """At most `count` different actions."""
        world: Any = branch.world  # any: an extension of Gymnasium's interface
        drawn: Sequence[Action] = world.legal_actions(4 * count, seed=stream.below(2**31))
        return _different(drawn, count)


class AgentProposer:
    """Proposes the actions of an agent for several seeds.

    Args:
        agent: Makes an agent; each is asked once.
        tools: The schemas of the offered tools.
    """

    def __init__(self, agent: Callable[[], Agent], tools: Sequence[JsonSchema]) -> None:
        self._agent = agent
        self._tools = tools

    def __call__(self, branch: Branch, count: int, stream: Stream) -> Sequence[Action]:
        """At most `count` different actions, the first answer first."""
        answers: list[Action] = []
        for _ in range(count):
            agent = self._agent()
            agent.reset(self._tools, seed=stream.below(2**31))
            answers.append(agent.act(branch.messages))
        return _different(answers, count)


def _different(actions: Sequence[Action], count: int) -> list[Action]:
    """The first `count` different actions."""
    chosen: list[Action] = []
    for action in actions:
        if action not in chosen:
            chosen.append(action)
    return chosen[:count]
