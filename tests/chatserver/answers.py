"""What the server can do with a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answer it."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Say half of an answer, or nothing, and reset the connection."""

    half: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Say half of an answer and close the connection in good order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Say nothing until the server ends; or a byte at a time, for ever."""

    drip: bool = False


Deed: TypeAlias = Answer | Reset | Cut | Hang


def said(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer of JSON."""
    return Answer(status=status, body=orjson.dumps(value), headers=headers or {})


def chat(content: str | None = None, *calls: tuple[str, Any], finish: str | None = None) -> Answer:
    """A chat completion with these calls: name and arguments, which are text as a model wrote it, or JSON."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"chatcmpl-tool-{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": given if isinstance(given, str) else orjson.dumps(given).decode(),
                },
            }
            for number, (name, given) in enumerate(calls)
        ]
    reason = finish or ("tool_calls" if calls else "stop")
    return said(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }
    )


def completion(
    context: Sequence[int], ids: Sequence[int], logprobs: Sequence[float | None] | None, *, finish: str
) -> Answer:
    """A completion by token ids, as vLLM gives it."""
    told = None if logprobs is None else {"tokens": [f"token_id:{i}" for i in ids], "token_logprobs": list(logprobs)}
    return said(
        {
            "id": "cmpl-1",
            "object": "text_completion",
            "choices": [
                {
                    "index": 0,
                    "text": "",
                    "token_ids": list(ids),
                    "prompt_token_ids": list(context),
                    "logprobs": told,
                    "finish_reason": finish,
                    "stop_reason": None,
                }
            ],
            "usage": {"prompt_tokens": len(context), "completion_tokens": len(ids)},
        }
    )
