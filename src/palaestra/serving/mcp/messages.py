"""Messages of an episode as MCP content: text, and images if there are any."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mcp_types import BlobResourceContents, ContentBlock, ImageContent, TextContent, TextResourceContents

_DATA_URL = re.compile(r"data:(?P<type>image/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)


def message_content(message: Mapping[str, Any]) -> list[ContentBlock]:
    """The content of an answer. Messages of others, such as the user, begin with their role. Any: a message's JSON."""
    is_answer = message["role"] == "tool"
    text = str(message["content"]) if is_answer else _attribute(message)
    images = (ImageContent(type="image", mime_type=kind, data=data) for kind, data in _images(message))
    return [TextContent(type="text", text=text), *images]


def briefing_contents(
    uri: str, messages: Iterable[Mapping[str, Any]]
) -> list[TextResourceContents | BlobResourceContents]:
    """The messages that open an episode as contents of one resource. Any: a message's JSON."""
    opening = list(messages)
    text = "\n\n".join(map(_attribute, opening))
    found = [image for message in opening for image in _images(message)]
    images = (BlobResourceContents(uri=uri, mime_type=kind, blob=data) for kind, data in found)
    return [TextResourceContents(uri=uri, mime_type="text/plain", text=text), *images]


def _attribute(message: Mapping[str, Any]) -> str:
    return f"[{message.get('name', message['role'])}] {message['content']}"


def _images(message: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Media type and base64 data of the images of a message."""
    for url in message.get("images", ()):
        match = _DATA_URL.fullmatch(url)
        assert match is not None, "a world's images are data URLs"
        yield match["type"], match["data"]
