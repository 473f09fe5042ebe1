"""Canonical bytes and digests: what "the same" means across processes and machines.

Canonical JSON here is orjson with sorted keys: dataclasses as objects (their fields in order of declaration), dates as
ISO 8601, no white space. Two values are the same when their canonical bytes are.
"""

from hashlib import blake2b
from typing import Any

import orjson

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def canonical(value: Any) -> bytes:
    """The canonical JSON of `value`: plain data, dataclasses, dates and tuples.

    Raises:
        TypeError: `value` holds something that is not data.
    """
    return orjson.dumps(value, option=_OPTIONS)


def digest(value: Any) -> str:
    """128 bits, as hex, of the canonical JSON of `value`."""
    return digest_bytes(canonical(value))


def digest_bytes(data: bytes) -> str:
    """128 bits of `data`, as hex."""
    return blake2b(data, digest_size=16).hexdigest()


class Chain:
    """A hash chain: its `head` names the whole history of what was added, in order."""

    __slots__ = ("head",)

    def __init__(self, head: str = "") -> None:
        self.head = head

    def add(self, *link: Any) -> str:
        """Add one link, such as (state, action, observation, reward), and return the new head."""
        self.head = blake2b(self.head.encode() + canonical(link), digest_size=16).hexdigest()
        return self.head
