"""A server's answer to a chat, parsed and checked."""

from typing import Any, cast

import orjson
from pydantic import BaseModel, Field, ValidationError

from palaestra.errors import ReplyError
from palaestra.record import record
from palaestra.records import JsonObject


@record
class RequestedCall:
    """A call that a model requests, as received from the server."""

    id: str
    """The server's id; empty without one."""
    tool: str
    arguments: JsonObject | None
    """`None` if `raw` is not a JSON object, which is a fault of the model and not an error."""
    raw: str
    """The arguments as the model wrote them."""


@record
class TokenUsage:
    """The numbers of tokens of a reply."""

    prompt: int
    completion: int


@record
class ChatReply:
    """One turn of a model."""

    content: str | None
    """Its text; `None` without text."""
    calls: tuple[RequestedCall, ...]
    finish_reason: str
    """The reason, such as "stop", "tool_calls", "content_filter", or "length" if a token limit cut it off."""
    usage: TokenUsage | None
    """`None` if the server does not report it."""

    @property
    def cut_off(self) -> bool:
        """Whether a token limit ended it, so that its text or its last call may be incomplete."""
        return self.finish_reason == "length"

    @property
    def broken_off(self) -> bool:
        """Whether the server aborted it and reports this instead of an error."""
        return self.finish_reason in ("abort", "error", "cancelled", "canceled")


class _Function(BaseModel):
    name: str
    arguments: str | dict[str, Any] | None = None
    """Any: some servers send JSON instead of text."""


class _Call(BaseModel):
    id: str | None = None
    function: _Function


class _Message(BaseModel):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int
    completion_tokens: int


class _Chat(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


def read_reply(answer: JsonObject, *, asked: str) -> ChatReply:
    """The reply in a server's answer.

    Args:
        answer: The answer's body.
        asked: The server's name, for errors.

    Raises:
        ReplyError: it is not a chat completion; the message names the field.
    """
    try:
        parsed = _Chat.model_validate(answer)
    except ValidationError as error:
        raise ReplyError(f"{asked} gave no chat completion: {first_fault(error)}") from None
    choice, usage = parsed.choices[0], parsed.usage
    return ChatReply(
        content=choice.message.content,
        calls=tuple(map(_parse_call, choice.message.tool_calls or ())),
        finish_reason=choice.finish_reason or "",
        usage=TokenUsage(prompt=usage.prompt_tokens, completion=usage.completion_tokens) if usage else None,
    )


def first_fault(error: ValidationError) -> str:
    """The first fault and its place."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _parse_call(call: _Call) -> RequestedCall:
    given = call.function.arguments
    raw = given if isinstance(given, str) else orjson.dumps(given or {}).decode()
    try:
        read: object = orjson.loads(raw or "{}")
    except orjson.JSONDecodeError:
        read = None
    return RequestedCall(
        id=call.id or "",
        tool=call.function.name,
        arguments=cast("JsonObject", read) if isinstance(read, dict) else None,
        raw=raw,
    )
