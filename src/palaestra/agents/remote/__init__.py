"""Chat models behind servers with OpenAI's protocol, also as agents. Needs the extra `remote`."""

from palaestra.agents.remote.agent import RemoteAgent
from palaestra.agents.remote.chat import RemoteChat, RemoteChatConfig
from palaestra.agents.remote.endpoint import Endpoint, EndpointConfig
from palaestra.agents.remote.reply import ChatReply, RequestedCall, TokenUsage

__all__ = [
    "ChatReply",
    "Endpoint",
    "EndpointConfig",
    "RemoteAgent",
    "RemoteChat",
    "RemoteChatConfig",
    "RequestedCall",
    "TokenUsage",
]
