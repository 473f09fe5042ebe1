"""What a server answers a chat with, read and checked."""

from typing import Any, cast

import orjson
from pydantic import BaseModel, Field, ValidationError

from palaestra.errors import ReplyError
from palaestra.record import record
from palaestra.records import JsonObject


@record
class RequestedCall:
    """A call that a model asks for, as the server gave it."""

    id: str
    """The server's own; empty where it gave none."""
    tool: str
    arguments: JsonObject | None
    """`None` where `raw` is no JSON object: the model's fault, and no error of ours."""
    raw: str
    """The arguments, as the model wrote them."""


@record
class TokenUsage:
    """Tokens that a reply took."""

    prompt: int
    completion: int


@record
class ChatReply:
    """One turn of a model."""

    content: str | None
    """Its text; `None` where it wrote none."""
    calls: tuple[RequestedCall, ...]
    finish_reason: str
    """Such as "stop", "tool_calls", "content_filter", or "length": it was cut off by a limit of tokens."""
    usage: TokenUsage | None
    """`None` where the server does not say."""

    @property
    def cut_off(self) -> bool:
        """Whether a limit of tokens ended it, so that its text or its last call is only the beginning of one."""
        return self.finish_reason == "length"

    @property
    def broken_off(self) -> bool:
        """Whether the server gave up on it, and says so in place of an error."""
        return self.finish_reason in ("abort", "error", "cancelled", "canceled")


class _Function(BaseModel):
    name: str
    arguments: str | dict[str, Any] | None = None
    """Any: some servers give JSON instead of text."""


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
        asked: Who was asked, for an error.

    Raises:
        ReplyError: it is no chat completion; the message names the field.
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
    """The first thing that is wrong, and where."""
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
