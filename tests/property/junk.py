"""Junk of every kind: values, calls, actions and texts that are wrong in some way, drawn from a seed."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from corpus.actions import FOUND, Unwritable, nested
from palaestra.envs import ToolEnv
from palaestra.records import ToolCall
from palaestra.seeding import Stream
from palaestra.tools import FORMATS

VALUES: tuple[tuple[Any, ...], ...] = (
    (None, True, False, [], {}, "", " ", "\t\n"),
    (0, -1, 1, 99, 100, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400, 10**5_000),
    (0.5, 1.0, -0.0, 1e308, 5e-324, float("nan"), float("inf"), float("-inf")),
    (
        "\x00",
        "\ud800",
        "\udfff\ud800",
        "\u202eDRO",
        "\ufeff",
        "\ufb00",
        "\u0130",
        "\u03a9" * 60,
        "\U0001f9ef",
        "e\u0301",
    ),
    ("1", "true", "null", "NaN", "b'ORD-1001'", "0x10", "1e3", "[1]", '{"a": 1}', "\uff11\uff10", "\u0661"),
    ("'; DROP TABLE orders; --", "%s%n", "../../etc/passwd", "${jndi:x}", "{0.__class__}", "*", "<|im_end|>"),
    (b"ORD-1001", bytearray(b"\xff"), {1, 2}, (1, 2), date(2026, 1, 1), Decimal("1.5"), object(), len, Unwritable()),
    ("ORD-1001", "ord-1001", "ORD-1001 ", " ORD-1001", "ORD-99999999", "ORD-", "LIN-10001", "RET-1", "ORD\u20111001"),
)
KEYS = ("__proto__", "constructor", "__class__", "__init__", "context", "self", "", "\x00", "\ud800", "k" * 50_000)
NEAR_KEYS = ("order_id ", "Order_id", "order\u200b_id", "\u043erder_id", "order_i\u0307d", "orderId")
"""Names that people take for an argument's."""
ODD_KEYS = (1, None, True, 1.5, ("order_id",), b"order_id", 10**5_000)
NAMES = (
    "", " ", "get_orderr", "GET_ORDER", "get_order ", "__class__", "__init__", "constructor", "functions.get_order",
    "\x00", "\ud800", "\u202eget_order", "x" * 100_000, "rm -rf /", "get_order;cancel_order", "None", "🧯",
)  # fmt: skip
NOTHING: dict[str, Any] = {}
PIECES = (
    "<tool_call>", "</tool_call>", "<think>", "</think>", "```json\n", "```", "{", "}", "[", "]", '"', "\\", "\\u", ":",
    ",", "=", " ", "\n", "\r\n", "> ", "\x00", "\ud800", "\u202e", "1e999", "-", "NaN", "null", "<PAID_CENTS.0>", "éé",
)  # fmt: skip


def huge(stream: Stream) -> str:
    """A long string; seldom one of a megabyte."""
    length = stream.weighted_choice(((81, 60), (4_001, 30), (100_000, 9), (1_000_000, 1)))
    return (stream.choice(("x", "é", "\x00", "ORD-1001 ", "\U0001f600")) * length)[:length]


def junk_value(stream: Stream) -> Any:
    """A value that no argument expects, or one that it does."""
    kind = stream.below(100)
    if kind < 3:
        return nested(stream.choice((3, 60, 400, 3_000, 10_000)), key=stream.choice((None, "order_id")))
    value = huge(stream) if kind < 12 else stream.choice(stream.choice(VALUES))
    return stream.choice((value, value, value, [value], {"a": value}, [value, {"b": [value]}]))


def junk_call(env: ToolEnv, stream: Stream) -> dict[str, Any]:
    """A call that is wrong in some way, most often in its arguments."""
    if stream.chance(10):
        return {"tool": stream.choice(NAMES), "arguments": {"order_id": junk_value(stream)}}
    tool = stream.choice(list(env.toolbox))
    names: list[Any] = [n for n in tool.parameters["properties"] if stream.chance(85)]
    for odd, percent in ((KEYS, 20), (NEAR_KEYS, 15), (ODD_KEYS, 10)):
        if stream.chance(percent):
            names.append(stream.choice(odd))
    return {"tool": tool.name, "arguments": {name: junk_value(stream) for name in names}}


def spoiled_call(env: ToolEnv, stream: Stream) -> dict[str, Any]:
    """A legal call with one argument spoiled: what comes closest to going through."""
    legal: Any = env.legal_actions(1)[0]
    arguments = dict(legal["arguments"])
    if arguments:
        arguments[stream.choice(sorted(arguments))] = junk_value(stream)
    return {"tool": legal["tool"], "arguments": arguments}


def junk_text(env: ToolEnv, action_format: str, stream: Stream) -> str:
    """A call as text, cut, spliced and sprinkled."""
    legal: Any = env.legal_actions(1)[0]
    text = FORMATS.get(action_format).render([ToolCall(**legal)], stream.choice(("", "One moment.")))
    for _ in range(stream.between(1, 4)):
        at, to = sorted((stream.below(len(text) + 1), stream.below(len(text) + 1)))
        piece = stream.choice(PIECES) * stream.weighted_choice(((1, 90), (3, 8), (500, 2)))
        text = stream.choice((text[:at] + piece + text[at:], text[:at] + piece + text[to:], text[:to] + text[at:]))
    return text


def junk_action(env: ToolEnv, action_format: str, stream: Stream) -> Any:
    """An action, or what is none: junk calls, turns of several, text, and now and then a call that is legal."""
    kinds: tuple[tuple[Callable[[], Any], int], ...] = (
        (lambda: junk_call(env, stream), 45),
        (lambda: spoiled_call(env, stream), 15),
        (lambda: junk_text(env, action_format, stream), 20),
        (lambda: [junk_call(env, stream) for _ in range(stream.between(2, 4))], 5),
        (lambda: env.legal_actions(1)[0], 8),
        (lambda: _no_action(stream), 6),
        (stream.choice(list(FOUND.values())), 1),
    )
    return stream.weighted_choice(kinds)()


def _no_action(stream: Stream) -> Any:
    value = junk_value(stream)
    name = stream.choice(NAMES)
    return stream.choice(
        (
            value,
            [value],
            {"tool": value},
            {"tool": name, "arguments": value},
            {"tool": name, "arguments": NOTHING, "more": value},
            {"name": name, "arguments": NOTHING},
            [{"tool": name, "arguments": NOTHING}, value],
        )
    )
