"""The chat model of a judge: at a server, or user-defined."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from palaestra.errors import ConfigError
from palaestra.protocols import ChatModel
from palaestra.records import Json, JsonObject
from palaestra.trainers.plugin import load_plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatModelConfig:
    """The settings of a chat model.

    Raises:
        ConfigError: the name is neither `module:name` nor a model of a server, or a setting of servers has no server.
    """

    name: str
    """The model's name at a server, or "module:name" of a function without arguments that returns a `ChatModel`."""
    base_url: str | None = None
    """The server, which speaks OpenAI's protocol, such as "http://127.0.0.1:8000/v1"."""
    key_variable: str | None = None
    """The environment variable that holds the server's key."""
    options: JsonObject = field(default_factory=dict[str, Json])
    """Further fields of each request, such as { temperature = 0 }."""

    def __post_init__(self) -> None:
        if self.base_url is None and ":" not in self.name:
            raise ConfigError(
                f"model.name={self.name!r}: give base_url, the server that has this model, or module:name of a "
                "function that makes one"
            )
        if self.base_url is None and (self.key_variable is not None or self.options):
            raise ConfigError(
                "model.key_variable, model.options: they are of a server; give base_url, or leave them out"
            )

    @contextmanager
    def open(self) -> Generator[ChatModel]:
        """Open the model; connections to its server are closed at the end of the block.

        Raises:
            ConfigError: the function that creates the model cannot be loaded.
        """
        if self.base_url is None:
            yield load_plugin(self.name, setting="model.name")()
            return
        from palaestra.agents.remote import (  # noqa: PLC0415  the extra `remote`, which training without a server does without
            EndpointConfig,
            RemoteChat,
            RemoteChatConfig,
        )

        endpoint = EndpointConfig(base_url=self.base_url, key_variable=self.key_variable)
        with RemoteChat(RemoteChatConfig(endpoint=endpoint, model=self.name, options=self.options)) as model:
            yield model
