"""A chat model behind a server with OpenAI's protocol; it returns text, or text and calls."""

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
    """A model and the settings of its requests."""

    endpoint: EndpointConfig
    model: str
    """The model's name on the server."""
    options: JsonObject = field(default_factory=dict[str, Json])
    """Further fields of each request, such as {"temperature": 0, "max_tokens": 512}; the server's defaults apply to all
    others."""
    seed_field: str | None = "seed"
    """The name of the seed field; `None` for servers that refuse one. Few servers guarantee equal text for equal
    seeds."""
    keeps_cut_off: bool = False
    """Whether `complete` accepts text that a token limit cut off, instead of raising an error."""


class RemoteChat:
    """A remote chat model; implements `ChatModel`.

    Pickling keeps its settings and none of its connections. `close` or a `with` block closes the connections of
    synchronous callers, `aclose` those of an event loop.

    Args:
        config: The model and its settings.
        endpoint: The endpoint, if it is not made from `config`.

    Raises:
        ConfigError: the address is invalid, or an option sets a field that this class sets.
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
            tools: Schemas of the offered tools, in OpenAI's form.
            seed: The random seed.
            told: Called with the kind of each failed try, as by `Endpoint.post`; further kinds are "no chat completion"
                and "broken off".

        Raises:
            WaitError: the server took too long.
            ServerError: the server could not be reached, or failed.
            ReplyError: the server refused the request, or its answer is not a chat completion. Calls whose arguments
                are not JSON are not an error; see `RequestedCall`.
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
        """The model's text after `messages`.

        Raises:
            WaitError: a `TimeoutError`; the server took too long.
            ServerError: a `ConnectionError`; the server could not be reached, or failed.
            ReplyError: a `ValueError`; the server refused the request, or its answer is not text or is incomplete.
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
        """Synchronous version of `acomplete`."""
        return run_in_thread(self.acomplete(messages, seed=seed))

    async def aclose(self) -> None:
        """Close the connections of this event loop. Repeated calls are allowed."""
        await self._endpoint.close()

    def close(self) -> None:
        """Close the connections of synchronous callers."""
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
