"""Conversion of messages to and from OpenAI's chat completions."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from palaestra.errors import ActionError
from palaestra.records import Message, MessageCall
from palaestra.tools.actions import read_arguments
from palaestra.tools.wire import glimpse

_IMAGES = "Images of "


def to_openai(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages for `client.chat.completions.create(messages=...)`.

    The interface has three rules that Palaestra's messages need not follow:

    - An answer names its call. An answer without one, as after an unreadable turn, becomes a user message.
    - A tool's answer holds no images. They follow after the answers, in a user message.
    - An answer has no tool name. `from_openai` takes it from the call.
    """
    chat: list[dict[str, Any]] = []
    pictured: list[Message] = []
    for message in messages:
        if message["role"] != "tool":
            chat += _image_messages(pictured)
        chat.append(_message(message))
        if message["role"] == "tool" and message.get("images") and message.get("tool_call_id"):
            pictured.append(message)
    return [*chat, *_image_messages(pictured)]


def from_openai(chat: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Messages of a chat in OpenAI's form: the inverse of `to_openai`, unless a rule changed a message.

    Raises:
        ActionError: a message is not in OpenAI's form, or its arguments are not a JSON object.
    """
    names: dict[str, str] = {}
    messages: list[Message] = []
    for given in chat:
        message = _read_message(given, names)
        for call in message.get("tool_calls", ()):
            names[call["id"]] = call["tool"]
        messages.append(message)
    return messages


def _message(message: Message) -> dict[str, Any]:
    role, text, images = message["role"], message["content"], message.get("images", [])
    if role == "tool":
        call_id = message.get("tool_call_id")
        if call_id:
            return {"role": "tool", "tool_call_id": call_id, "content": text}
        role = "user"
    content = _parts(text, images) if images else text
    calls = message.get("tool_calls")
    if not calls:
        return {"role": role, "content": content}
    return {"role": role, "content": content, "tool_calls": [_call(call) for call in calls]}


def _call(call: MessageCall) -> dict[str, Any]:
    arguments = orjson.dumps(call["arguments"]).decode()
    return {"id": call["id"], "type": "function", "function": {"name": call["tool"], "arguments": arguments}}


def _parts(text: str, images: Sequence[str]) -> list[dict[str, Any]]:
    shown = ({"type": "image_url", "image_url": {"url": url}} for url in images)
    return [{"type": "text", "text": text}, *shown]


def _image_messages(answers: list[Message]) -> list[dict[str, Any]]:
    """The images of answers as user messages; the list is empty afterwards."""
    messages = [
        {"role": "user", "content": _parts(f"{_IMAGES}{answer.get('name', 'the answer')}:", answer.get("images", []))}
        for answer in answers
    ]
    answers.clear()
    return messages


def _read_message(given: Mapping[str, Any], names: Mapping[str, str]) -> Message:
    role = given.get("role")
    if role == "developer":  # the newer name of "system"
        role = "system"
    if role not in ("system", "user", "assistant", "tool"):
        raise ActionError(f"a message of a chat has a role such as 'user', not {glimpse(role)}")
    text, images = _read_content(given.get("content"))
    message: Message = {"role": role, "content": text}
    if images:
        message["images"] = images
    if role == "tool":
        call_id = str(given.get("tool_call_id", ""))
        message["tool_call_id"] = call_id
        if call_id in names:
            message["name"] = names[call_id]
    if calls := given.get("tool_calls"):
        message["tool_calls"] = [_read_call(call) for call in calls]
    return message


def _read_call(given: Mapping[str, Any]) -> MessageCall:
    function = given.get("function", {})
    arguments = read_arguments(str(function.get("name", "")), function.get("arguments"))
    if isinstance(arguments, str):
        raise ActionError(arguments)
    return {"id": str(given.get("id", "")), "tool": str(function.get("name", "")), "arguments": arguments}


def _read_content(content: object) -> tuple[str, list[str]]:
    if content is None or isinstance(content, str):
        return content or "", []
    if not isinstance(content, list):
        raise ActionError(f"a message's content is text or a list of parts, not {glimpse(content, 80)}")
    texts: list[str] = []
    images: list[str] = []
    for part in cast("list[dict[str, Any]]", content):
        if part.get("type") == "image_url":
            images.append(str(part["image_url"]["url"]))
        elif part.get("type") == "text":
            texts.append(str(part["text"]))
        else:
            raise ActionError(f"a part of a message is text or an image, not {glimpse(part, 80)}")
    return "\n".join(texts), images
