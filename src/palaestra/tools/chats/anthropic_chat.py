"""Conversion of messages and tools to and from Anthropic's messages interface."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from palaestra.errors import ActionError
from palaestra.records import JsonSchema, Message, MessageCall
from palaestra.tools.actions import read_arguments
from palaestra.tools.wire import glimpse

_BASE64 = ";base64,"


def to_anthropic(messages: Sequence[Message]) -> dict[str, Any]:
    """Messages for `client.messages.create(**to_anthropic(messages), ...)`: "messages", and "system" if there is one.

    The interface has rules that Palaestra's messages need not follow:

    - User and assistant alternate. Messages between two turns of the assistant become one user message, with the
      answers of tools first.
    - An answer names its call. An answer without one, as after an unreadable turn, becomes a user message.
    - Only the first message can be the system's. A later system message becomes a user message.
    - No text is empty. Empty messages are left out.
    """
    begins = next((n for n, message in enumerate(messages) if message["role"] != "system"), len(messages))
    chat: list[dict[str, Any]] = []
    for message in messages[begins:]:
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = _blocks(message)
        if not blocks:
            continue
        if chat and chat[-1]["role"] == role:
            chat[-1]["content"] += blocks
        else:
            chat.append({"role": role, "content": blocks})
    for turn in chat:
        if turn["role"] == "user":
            turn["content"].sort(key=_comes_behind_results)
    system = [{"type": "text", "text": message["content"]} for message in messages[:begins] if message["content"]]
    return {**({"system": system} if system else {}), "messages": chat}


def from_anthropic(chat: Mapping[str, Any]) -> list[Message]:
    """Messages of a chat in Anthropic's form: the inverse of `to_anthropic`, unless a rule changed a message.

    Args:
        chat: "messages", and "system" if there is one.

    Raises:
        ActionError: a message or block has no equivalent in Palaestra.
    """
    system = chat.get("system", [])
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    messages = [Message(role="system", content=str(block["text"])) for block in blocks]
    names: dict[str, str] = {}
    for turn in chat["messages"]:
        content = turn["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if turn["role"] == "assistant":
            message = _read_assistant(parts)
            names.update((call["id"], call["tool"]) for call in message.get("tool_calls", ()))
            messages.append(message)
        else:
            messages += _read_user(parts, names)
    return messages


def anthropic_tools(tools: Iterable[JsonSchema]) -> list[dict[str, Any]]:
    """Tools for `client.messages.create(tools=...)`.

    Args:
        tools: Schemas in OpenAI's function-calling form, such as `info["tools"]`.
    """
    return [
        {
            "name": function["name"],
            "description": function.get("description", ""),
            "input_schema": function.get("parameters", {"type": "object", "properties": {}}),
        }
        for function in (tool["function"] for tool in tools)
    ]


def _blocks(message: Message) -> list[dict[str, Any]]:
    text = [{"type": "text", "text": message["content"]}] if message["content"] else []
    shown = [*text, *map(_image, message.get("images", ()))]
    call_id = message.get("tool_call_id")
    if message["role"] == "tool" and call_id:
        content = shown if message.get("images") else message["content"]
        return [{"type": "tool_result", "tool_use_id": call_id, "content": content}]
    uses = (
        {"type": "tool_use", "id": call["id"], "name": call["tool"], "input": call["arguments"]}
        for call in message.get("tool_calls", ())
    )
    return [*shown, *uses]


def _comes_behind_results(block: Mapping[str, Any]) -> bool:
    return bool(block["type"] != "tool_result")


def _image(url: str) -> dict[str, Any]:
    if not url.startswith("data:") or _BASE64 not in url:
        return {"type": "image", "source": {"type": "url", "url": url}}
    kind, _, data = url.removeprefix("data:").partition(_BASE64)
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _image_url(block: Mapping[str, Any]) -> str:
    source = block["source"]
    if source["type"] == "url":
        return str(source["url"])
    return f"data:{source['media_type']}{_BASE64}{source['data']}"


def _read_assistant(parts: Sequence[Mapping[str, Any]]) -> Message:
    texts = [str(part["text"]) for part in parts if part["type"] == "text"]
    calls = [_read_use(part) for part in parts if part["type"] == "tool_use"]
    message: Message = {"role": "assistant", "content": "\n".join(texts)}
    if calls:
        message["tool_calls"] = calls
    return message


def _read_use(part: Mapping[str, Any]) -> MessageCall:
    arguments = read_arguments(str(part["name"]), part.get("input"))
    if isinstance(arguments, str):
        raise ActionError(arguments)
    return {"id": str(part["id"]), "tool": str(part["name"]), "arguments": arguments}


def _read_user(parts: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[Message]:
    """The messages between two turns of the assistant; an image belongs to the text before it."""
    messages: list[Message] = []
    for part in parts:
        kind = part.get("type")
        if kind == "tool_result":
            messages.append(_read_result(part, names))
        elif kind == "text":
            messages.append({"role": "user", "content": str(part["text"])})
        elif kind == "image":
            if not messages or messages[-1]["role"] != "user":
                messages.append({"role": "user", "content": ""})
            messages[-1].setdefault("images", []).append(_image_url(part))
        else:
            raise ActionError(f"a block of a user's message is text, an image or a result, not {glimpse(part, 80)}")
    return messages


def _read_result(part: Mapping[str, Any], names: Mapping[str, str]) -> Message:
    call_id, content = str(part["tool_use_id"]), part.get("content", "")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [str(block["text"]) for block in cast("list[dict[str, Any]]", blocks) if block["type"] == "text"]
    images = [_image_url(block) for block in cast("list[dict[str, Any]]", blocks) if block["type"] == "image"]
    message: Message = {"role": "tool", "tool_call_id": call_id, "content": "\n".join(texts)}
    if call_id in names:
        message["name"] = names[call_id]
    if images:
        message["images"] = images
    return message
