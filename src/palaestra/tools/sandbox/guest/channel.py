"""The program's end of the channel: a call is written as a line of JSON, and its answer is read.

This file and its neighbours import as little as possible, because every action of an agent pays for it. The JSON
encoder is written here: importing `json` takes longer than starting the interpreter.
"""

import marshal
import os
from _json import encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing them takes longer than running most programs
    from collections.abc import Callable
    from typing import Any

INFINITY = float("inf")


class ToolError(Exception):
    """A tool refused a call.

    Attributes:
        code: A short stable word, such as "not_found".
        message: The reason, in words.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class Channel:
    """Writes requests to one file descriptor and reads answers from another.

    Args:
        requests: The descriptor for requests.
        answers: The descriptor for answers.
    """

    def __init__(self, requests: int, answers: int) -> None:
        self._requests = requests
        self._answers = answers
        self.set_clock: Callable[[float], None] = lambda _: None
        self.flush: Callable[[], None] = lambda: None

    def receive(self) -> "dict[str, Any]":
        """The next message from the host."""
        message: dict[str, Any] = marshal.loads(self._read(int.from_bytes(self._read(4), "big")))  # noqa: S302
        return message

    def call(self, tool: str, arguments: dict[str, object]) -> object:
        """Call a tool and return its answer.

        Raises:
            ToolError: the tool refused.
            TypeError: an argument is not a JSON value.
        """
        line = f'{{"tool":{encode(tool)},"arguments":{encode(arguments)}}}\n'
        self.flush()
        self._write(line.encode())
        answer = self.receive()
        self.set_clock(answer["now"])
        if answer["refusal"] is not None:
            raise ToolError(*answer["refusal"])
        return answer["value"]

    def finish(self, *, error: str | None = None, unreadable: str | None = None) -> None:
        """Report how the program ended."""
        self.flush()
        self._write(f'{{"error":{encode(error)},"unreadable":{encode(unreadable)}}}\n'.encode())

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = os.read(self._answers, size - len(data))
            if not part:
                os._exit(0)  # the host has ended
            data += part
        return bytes(data)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._requests, view) :]


def encode(value: "Any") -> str:
    """A value as JSON.

    Raises:
        TypeError: it is not a JSON value.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return encode_basestring_ascii(value.encode("utf-8", "replace").decode())
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if value != value or value in (INFINITY, -INFINITY):  # noqa: PLR0124  that is how a NaN is known
            raise TypeError(f"{value!r} is no JSON value")
        return float.__repr__(value)
    if isinstance(value, list | tuple):
        items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return f"[{','.join(map(encode, items))}]"
    if isinstance(value, dict):
        fields: list[Any] = list(value.items())  # pyright: ignore[reportUnknownArgumentType]
        return f"{{{','.join(map(_encode_field, fields))}}}"
    raise TypeError(f"a {type(value).__name__} is no JSON value; use text, numbers, booleans, None, lists and dicts")


def _encode_field(field: "tuple[Any, Any]") -> str:
    key, value = field
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r} is no text; keys of JSON objects are")
    return f"{encode(key)}:{encode(value)}"
