"""A model behind a server that speaks OpenAI's protocol, as an agent under evaluation."""

from collections.abc import Callable, Sequence

from palaestra.agents import Env
from palaestra.agents.remote import RemoteAgent, RemoteChat, RemoteChatConfig
from palaestra.benchmarks.evaluation.agents.agent import AgentSession, EpisodeCost, EvaluatedEpisodeAgent
from palaestra.records import JsonObject, JsonSchema


class EvaluatedEndpoint(EvaluatedEpisodeAgent):
    """A model elsewhere.

    Args:
        config: Which, and how it is asked.

    Raises:
        ConfigError: the address is none, or an option sets what is not its to set.
    """

    def __init__(self, config: RemoteChatConfig) -> None:
        self.name = config.model
        self.proved = False
        self._config = config
        self._chat = RemoteChat(config)

    def describe(self) -> JsonObject:
        """The model and its options; the key's variable is none of them, nor is the patience with the server."""
        config = self._config
        return {
            "kind": "endpoint",
            "model": config.model,
            "base_url": config.endpoint.base_url,
            "options": dict(config.options),
            "seed_field": config.seed_field,
        }

    def seat(self, env: Env, left: Callable[[], float]) -> AgentSession:
        """The model, in a chat of its own."""
        del env
        return _Seat(self, RemoteAgent(self._chat, left=left))

    def close(self) -> None:
        """Close the connections."""
        self._chat.close()


_WRITTEN = frozenset({"cut off", "malformed call"})
"""Troubles that the model made itself, and that cost its server no try."""


class _Seat(AgentSession):
    def __init__(self, evaluated_agent: EvaluatedEndpoint, agent: RemoteAgent) -> None:
        super().__init__(agent)
        self._contender = evaluated_agent
        self._model = agent

    def offer(self, tools: Sequence[JsonSchema]) -> None:
        """The model is told of them with its next turn."""
        self._model.offer(tools)

    def has_delay(self) -> bool:
        """A try that failed took time in which the model wrote nothing that counts."""
        return any(count and name not in _WRITTEN for name, count in self._model.troubles.items())

    def cost(self) -> EpisodeCost:
        """As the server counts."""
        replies = self._model.replies
        if replies:
            self._contender.proved = True
        usages = [reply.usage for reply in replies if reply.usage is not None]
        counted = len(usages) == len(replies)
        return EpisodeCost(
            prompt_tokens=sum(usage.prompt for usage in usages) if counted else None,
            completion_tokens=sum(usage.completion for usage in usages) if counted else None,
            troubles=dict(sorted(self._model.troubles.items())),
        )
