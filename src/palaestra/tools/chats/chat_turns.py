"""Chats as lists of messages: the environment's messages and the assistant's turns."""

from collections.abc import Sequence

from palaestra.records import Message, MessageCall, ToolCall


def add_turn(
    chat: list[Message], calls: Sequence[ToolCall], observation: Sequence[Message], *, prose: str = ""
) -> None:
    """Add an assistant's turn and the environment's response to a chat.

    Args:
        chat: The messages so far, beginning with the observation of `reset`.
        calls: The calls of the turn, `info["record"].calls`.
        observation: The observation of `step`.
        prose: The assistant's text in addition to calls, or instead of calls.
    """
    ids = [message.get("tool_call_id", "") for message in observation if message["role"] == "tool"]
    # A call after the one that ended the episode has no answer, and no id.
    named = [*ids, *(f"unanswered_{position}" for position in range(len(ids), len(calls)))]
    turn: Message = {"role": "assistant", "content": prose}
    asked: list[MessageCall] = [
        {"id": call_id, "tool": call.tool, "arguments": dict(call.arguments)}
        for call_id, call in zip(named, calls, strict=False)
        if call_id
    ]
    if asked:
        turn["tool_calls"] = asked
    chat.append(turn)
    chat += observation
