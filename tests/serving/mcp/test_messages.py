"""Messages as MCP's content: answers as they are, others with who speaks, images beside their text."""

from typing import Any

from mcp_types import BlobResourceContents, ImageContent, TextContent, TextResourceContents

from palaestra.serving.mcp.messages import briefing_contents, message_content

PIXEL = "data:image/png;base64,iVBORw0KGgo="


def test_an_answer_is_its_text_and_others_begin_with_who_speaks() -> None:
    assert message_content({"role": "tool", "name": "get_order", "content": "[user] {}"}) == [
        TextContent(type="text", text="[user] {}")
    ]
    assert message_content({"role": "user", "content": "Thank you."}) == [
        TextContent(type="text", text="[user] Thank you.")
    ]


def test_images_follow_their_text() -> None:
    text, image = message_content({"role": "tool", "content": "a page", "images": [PIXEL]})
    assert text == TextContent(type="text", text="a page")
    assert image == ImageContent(type="image", mime_type="image/png", data="iVBORw0KGgo=")


def test_a_briefing_is_one_text_with_its_images() -> None:
    opening: list[dict[str, Any]] = [
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": "Page", "images": [PIXEL]},
    ]
    assert briefing_contents("x://y", opening) == [
        TextResourceContents(uri="x://y", mime_type="text/plain", text="[system] Rules.\n\n[user] Page"),
        BlobResourceContents(uri="x://y", mime_type="image/png", blob="iVBORw0KGgo="),
    ]
