"""Canonical bytes and digests: equality across processes and machines.

Canonical JSON here is orjson with sorted keys: dataclasses as objects (their fields in order of declaration), dates as
ISO 8601, decimals as their exact text, bytes in base64, no white space. Two values are the same when
their canonical bytes are.
"""

from base64 import b64encode
from decimal import Decimal
from hashlib import blake2b
from typing import Any

import orjson

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def canonical(value: Any) -> bytes:
    """The canonical JSON of `value`: plain data, dataclasses, dates, tuples, decimals and bytes.

    Raises:
        TypeError: `value` holds something that is not data.
    """
    return orjson.dumps(value, default=as_json, option=_OPTIONS)


def as_json(value: object) -> str:
    """Convert types that orjson does not know: a decimal to its exact text, bytes to base64.

    Raises:
        TypeError: `value` is neither, or is a decimal that is not a number.
    """
    if isinstance(value, Decimal) and value.is_finite():
        return format(value or abs(value), "f")
    if isinstance(value, bytes):
        return b64encode(value).decode()
    raise TypeError(f"a {type(value).__name__} is no data: {value!r:.60}")


def digest(value: Any) -> str:
    """128 bits, as hex, of the canonical JSON of `value`."""
    return digest_bytes(canonical(value))


def digest_bytes(data: bytes) -> str:
    """128 bits of `data`, as hex."""
    return blake2b(data, digest_size=16).hexdigest()


class Chain:
    """A hash chain: its `head` identifies everything that was added, in order."""

    __slots__ = ("head",)

    def __init__(self, head: str = "") -> None:
        self.head = head

    def add(self, *link: Any) -> str:
        """Add one link, such as (state, action, observation, reward), and return the new head."""
        self.head = blake2b(self.head.encode() + canonical(link), digest_size=16).hexdigest()
        return self.head
