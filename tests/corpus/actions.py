"""Actions that once stopped or crashed a world, by what they are. Each is built anew, since some are large."""

from collections.abc import Callable, Mapping
from typing import Any


class Unwritable:
    """An object that cannot be written down."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def nested(depth: int, *, core: Any = "ORD-1001", key: str | None = None) -> Any:
    """A list, or an object under `key`, in itself `depth` times."""
    value = core
    for _ in range(depth):
        value = [value] if key is None else {key: value}
    return value


FOUND: Mapping[str, Callable[[], Any]] = {
    # The message of the `ActionError` wrote the action whole.
    "lists without end": lambda: nested(20_000),
    "an integer of 5,000 digits": lambda: 10**5_000,
    "an integer of 5,000 digits for a call": lambda: [10**5_000],
    "an integer of 5,000 digits for arguments": lambda: {"tool": "get_order", "arguments": 10**5_000},
    "lists without end for arguments": lambda: {"tool": "get_order", "arguments": nested(20_000)},
    "what cannot be written": Unwritable,
    "a call that cannot be written": lambda: [Unwritable()],
    "a field that cannot be written": lambda: {"tool": "get_order", "arguments": {}, Unwritable(): 1},
    # The refusal and the log wrote the arguments whole.
    "an argument that cannot be written": lambda: {"tool": "get_order", "arguments": {"order_id": Unwritable()}},
    "an argument's name that cannot be written": lambda: {"tool": "get_order", "arguments": {Unwritable(): 1}},
    # The pattern for code fences tried every way to share out the line ends: hours for one turn.
    "a fence of line ends": lambda: "```\n" + "\n" * 200_000 + "``",
    "a fence of line ends and a call": lambda: '```json\n{"tool": "finish"}' + "\n" * 200_000 + "x```",
}
