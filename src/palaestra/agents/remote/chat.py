"""A chat model behind a server that speaks OpenAI's protocol: asked for text, or for text and calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import TracebackType
from typing import Self

from palaestra.agents.remote.edge import run_in_thread
from palaestra.agents.remote.endpoint import Endpoint, EndpointConfig
from palaestra.agents.remote.reply import ChatReply, read_reply
from palaestra.errors import ConfigError, ReplyError, ServerError
from palaestra.record import record
from palaestra.records import Json, JsonObject, JsonSchema, Message

_OURS = frozenset({"messages", "model", "n", "stream", "tools"})


@record
class RemoteChatConfig:
    """A model, and what every request of it says."""

    endpoint: EndpointConfig
    model: str
    """By the server's name for it."""
    options: JsonObject = field(default_factory=dict[str, Json])
    """Further fields of each request, such as {"temperature": 0, "max_tokens": 512}; the server's defaults hold for
    what is left out."""
    seed_field: str | None = "seed"
    """The field that carries the seed; `None` for servers that refuse one. Few promise equal text for equal seeds."""
    keeps_cut_off: bool = False
    """Whether text that a limit of tokens ended is an answer for `complete`, and not an error."""


class RemoteChat:
    """A chat model elsewhere; a `ChatModel`.

    Pickled, it takes its settings along and none of its connections. Those of callers that wait are closed by `close`
    or a `with` block, those of an event loop by `aclose`.

    Args:
        config: Which, and how it is asked.
        endpoint: What to ask, where it is not to be made from `config`.

    Raises:
        ConfigError: the address is none, or an option sets what is ours to set.
    """

    def __init__(self, config: RemoteChatConfig, *, endpoint: Endpoint | None = None) -> None:
        if taken := sorted(_OURS & config.options.keys()):
            raise ConfigError(f"options set {', '.join(taken)}, which each request sets by itself; leave it out")
        self.config = config
        self._endpoint = endpoint or Endpoint(config.endpoint)

    async def chat(
        self,
        messages: Sequence[Mapping[str, object]],
        tools: Sequence[JsonSchema] = (),
        *,
        seed: int,
        told: Callable[[str], None] = lambda _: None,
    ) -> ChatReply:
        """The model's next turn.

        Args:
            messages: The chat so far, in OpenAI's form.
            tools: Schemas of what it may call, in OpenAI's form.
            seed: Of the draw.
            told: Called for each try that failed, with its kind, as `Endpoint.post` does; "no chat completion" and
                "broken off" are two more.

        Raises:
            WaitError: the server took too long.
            ServerError: the server could not be reached, or failed.
            ReplyError: the server refused, or what it gave is no chat completion. Calls whose arguments are no JSON
                are no error; see `RequestedCall`.
        """
        config = self.config
        body: dict[str, object] = {**config.options, "model": config.model, "messages": list(messages)}
        if tools:
            body["tools"] = list(tools)
        if config.seed_field is not None:
            body[config.seed_field] = seed
        answer = await self._endpoint.post("chat/completions", body, told=told)
        try:
            reply = read_reply(answer, asked=self._name)
        except ReplyError:
            told("no chat completion")
            raise
        if reply.broken_off:
            told("broken off")
            raise ServerError(f"{self._name} broke its reply off: finish_reason={reply.finish_reason!r}; ask it again")
        return reply

    async def acomplete(self, messages: Sequence[Message], *, seed: int) -> str:
        """What the model writes after `messages`.

        Raises:
            WaitError: a `TimeoutError`; the server took too long.
            ServerError: a `ConnectionError`; the server could not be reached, or failed.
            ReplyError: a `ValueError`; the server refused, or what it gave is no text, or not all of it.
        """
        reply = await self.chat(messages, seed=seed)
        if reply.cut_off and not self.config.keeps_cut_off:
            raise ReplyError(
                f"{self._name} was cut off by its limit of tokens after {(reply.content or '')[-60:]!r}; "
                "set more in options, such as max_tokens"
            )
        if not reply.content:
            raise ReplyError(f"{self._name} wrote nothing; it ended with finish_reason={reply.finish_reason!r}")
        return reply.content

    def complete(self, messages: Sequence[Message], *, seed: int) -> str:
        """As `acomplete`, for callers that wait."""
        return run_in_thread(self.acomplete(messages, seed=seed))

    async def aclose(self) -> None:
        """Close the connections of this event loop. Closing twice is fine."""
        await self._endpoint.close()

    def close(self) -> None:
        """Close the connections of callers that waited."""
        run_in_thread(self.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _name(self) -> str:
        return f"{self.config.model} at {self.config.endpoint.base_url}"
