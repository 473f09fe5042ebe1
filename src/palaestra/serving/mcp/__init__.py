"""A session as an MCP server: its tools, and its briefing as a resource. Needs the package `mcp`."""

from palaestra.serving.mcp.local_session import LocalResult, LocalSession
from palaestra.serving.mcp.session_server import (
    BRIEFING_URI,
    END_META,
    REQUEST_META,
    REWARD_META,
    TURN_META,
    McpCall,
    make_session_server,
)
from palaestra.serving.mcp.streamable import McpHttpAnswer, SessionEndpoint

__all__ = [
    "BRIEFING_URI",
    "END_META",
    "REQUEST_META",
    "REWARD_META",
    "TURN_META",
    "LocalResult",
    "LocalSession",
    "McpCall",
    "McpHttpAnswer",
    "SessionEndpoint",
    "make_session_server",
]
