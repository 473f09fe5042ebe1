"""A call as one line: `tool key=value key="two words" key=[1,2]`.

A value is JSON on one line. A string needs no quotes if it is one word and not a number, true, false or null. A name
that is not an identifier is written as a JSON string. So every call has a line, and parsing it returns the call.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder, JSONEncoder

from palaestra.records import Json, ToolCall
from palaestra.tools.formats.format import Mark, join_text
from palaestra.tools.wire import glimpse

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LITERAL = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_BARE = re.compile(r"\w[\w.:@+-]*", re.ASCII)
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueMarks:
    """The marks that replace values in a written call."""

    find: Callable[[str | int], Mark | None]
    """The mark of a whole value; `None` without one."""
    mask: Callable[[str], Sequence[str]]
    """A text in pieces, with marks in place of values that have one."""


def write_line(call: ToolCall) -> str:
    """The line of a call."""
    return "".join(line_pieces(call, _PLAIN))


def line_pieces(call: ToolCall, marks: ValueMarks) -> list[str]:
    """The line of a call, with marks in place of values that have one."""
    pieces: list[str] = [_name(call.tool)]
    for key, value in call.arguments.items():
        pieces += [f" {_name(key)}=", *_argument(value, marks)]
    return join_text(pieces)


def quote(text: str) -> str:
    """A text as a JSON string."""
    return _ENCODER.encode(text)


def word_or_quoted(text: str) -> str:
    """A text as an argument's value: unchanged if it is one word that parses as no other value, else quoted."""
    return text if _BARE.fullmatch(text) and not _LITERAL.fullmatch(text) else quote(text)


def _name(name: str) -> str:
    return name if _NAME.fullmatch(name) else quote(name)


def _argument(value: Json, marks: ValueMarks) -> Iterator[str]:
    """An argument's value; a text of one word has no quotes, whatever it contains: `row.ORD-1042`."""
    if isinstance(value, str) and marks.find(value) is None and word_or_quoted(value) == value:
        yield from marks.mask(value)
    else:
        yield from _json(value, marks)


def _json(value: Json, marks: ValueMarks) -> Iterator[str]:
    """A value as JSON on one line; a whole value with a mark is written as the mark, without quotes."""
    mark = marks.find(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
    if mark is not None:
        yield mark
    elif isinstance(value, str):
        yield '"'
        yield from (p if isinstance(p, Mark) else quote(p)[1:-1] for p in marks.mask(value))
        yield '"'
    elif isinstance(value, list):
        yield "["
        for number, inner in enumerate(value):
            yield "," if number else ""
            yield from _json(inner, marks)
        yield "]"
    elif isinstance(value, Mapping):
        yield "{"
        for number, (name, inner) in enumerate(value.items()):
            yield f"{',' if number else ''}{quote(name)}:"
            yield from _json(inner, marks)
        yield "}"
    else:
        yield _ENCODER.encode(value)


def read_line(line: str) -> ToolCall:
    """The call in a line.

    Raises:
        ValueError: it holds no call; the message says why.
    """
    tool, at = _read_name(line, 0, "a line is a call, `tool key=value`, or begins with `> `")
    arguments: dict[str, Json] = {}
    while at < len(line):
        if line[at] != " ":
            raise ValueError(f"one space stands before each key=value; there is {_glimpse(line, at)}")
        key, at = _read_name(line, at + 1, "one space and key=value follow the tool")
        if not line.startswith("=", at):
            raise ValueError(
                f"the argument {glimpse(key)} lacks a value: write key=value; what is said begins with `> `"
            )
        if key in arguments:
            raise ValueError(f"the argument {glimpse(key)} is given twice; give it once")
        arguments[key], at = _read_value(line, at + 1, key)
    return ToolCall(tool=tool, arguments=arguments)


def _read_name(line: str, at: int, rule: str) -> tuple[str, int]:
    """The name that begins at `at`, and its end."""
    if line.startswith('"', at):
        quoted, end = _read_json(line, at, "a name")
        return str(quoted), end
    named = _NAME.match(line, at)
    if named is None:
        raise ValueError(f"{rule}; there is {_glimpse(line, at)}")
    return named.group(), named.end()


def _read_value(line: str, at: int, key: str) -> tuple[Json, int]:
    """The value that begins at `at`, and its end."""
    if line.startswith(('"', "[", "{"), at):
        return _read_json(line, at, f"the value of {glimpse(key)}")
    word = _WORD.match(line, at)
    if word is None:
        raise ValueError(f'the argument {glimpse(key)} has no value; an empty text is written ""')
    if _LITERAL.fullmatch(word.group()):
        return _read_json(line, at, f"the value of {glimpse(key)}")
    return word.group(), word.end()


def _read_json(line: str, at: int, what: str) -> tuple[Json, int]:
    try:
        return _DECODER.raw_decode(line, at)
    except JSONDecodeError as error:
        why = f'is not valid JSON ({error}); a string is written "...", a quote in it \\" and a new line \\n'
    except RecursionError:
        why = "is nested too deeply; write a flatter one"
    except ValueError:
        why = "holds a number that is not finite or has thousands of digits; write one of at most 64 bits"
    raise ValueError(f"{what}, {_glimpse(line, at)}, {why}")


def _glimpse(line: str, at: int) -> str:
    return glimpse(line[at : at + 30]) if at < len(line) else "nothing"


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(number)
    return value


_ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_DECODER = JSONDecoder(parse_float=_finite, parse_constant=_finite)
_PLAIN = ValueMarks(find=lambda _: None, mask=lambda text: [text])
