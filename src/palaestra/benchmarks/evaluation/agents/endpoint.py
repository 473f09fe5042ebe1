"""A model behind a server that speaks OpenAI's protocol, as an agent under evaluation."""

from collections.abc import Callable, Sequence

from palaestra.agents import Env
from palaestra.agents.remote import RemoteAgent, RemoteChat, RemoteChatConfig
from palaestra.benchmarks.evaluation.agents.agent import AgentSession, EpisodeCost, EvaluatedEpisodeAgent
from palaestra.records import JsonObject, JsonSchema


class EvaluatedEndpoint(EvaluatedEpisodeAgent):
    """A model on a server.

    Args:
        config: The model and its options.

    Raises:
        ConfigError: the address is invalid, or an option sets a field that is reserved.
    """

    def __init__(self, config: RemoteChatConfig) -> None:
        self.name = config.model
        self.proved = False
        self._config = config
        self._chat = RemoteChat(config)

    def describe(self) -> JsonObject:
        """The model and its options, without the key's variable and the limits on the server's time and tries."""
        config = self._config
        return {
            "kind": "endpoint",
            "model": config.model,
            "base_url": config.endpoint.base_url,
            "options": dict(config.options),
            "seed_field": config.seed_field,
        }

    def seat(self, env: Env, left: Callable[[], float]) -> AgentSession:
        """The model, in a new chat."""
        del env
        return _Seat(self, RemoteAgent(self._chat, left=left))

    def close(self) -> None:
        """Close the connections."""
        self._chat.close()


_WRITTEN = frozenset({"cut off", "malformed call"})
"""Troubles that the model itself caused, and that did not cost a try of its server."""


class _Seat(AgentSession):
    def __init__(self, evaluated_agent: EvaluatedEndpoint, agent: RemoteAgent) -> None:
        super().__init__(agent)
        self._contender = evaluated_agent
        self._model = agent

    def offer(self, tools: Sequence[JsonSchema]) -> None:
        """Send the tools to the model with its next turn."""
        self._model.offer(tools)

    def has_delay(self) -> bool:
        """Whether a failed try took time in which the model wrote nothing that counts."""
        return any(count and name not in _WRITTEN for name, count in self._model.troubles.items())

    def cost(self) -> EpisodeCost:
        """The cost by the server's counts."""
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
