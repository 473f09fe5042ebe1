"""Messages between a server and its workers: frames of a small JSON header and a body of bytes.

The body of a request is the JSON of its items. The body of an answer is its results, concatenated; the header has their
lengths. Both ends are the same program, so nothing is checked.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import orjson

from palaestra.serving.access import Caller, KeyScope
from palaestra.serving.core import BatchAnswer, LedgerOutcome, SessionCounts

Header: TypeAlias = Mapping[str, Any]
"""Any: JSON."""
LENGTH = 8
"""Size in bytes of the length before each frame in a stream, big-endian."""
_HEADER_LENGTH = 4
_NUMBERS = ("sessions", "snapshots", "begun", "running")


def write_frame(header: Header, body: bytes = b"") -> bytes:
    """A frame."""
    written = orjson.dumps(header)
    return b"".join((len(written).to_bytes(_HEADER_LENGTH), written, body))


def read_frame(frame: bytes) -> tuple[Header, bytes]:
    """Header and body of a frame."""
    start = _HEADER_LENGTH + int.from_bytes(frame[:_HEADER_LENGTH])
    return orjson.loads(frame[_HEADER_LENGTH:start]), frame[start:]


def write_caller(caller: Caller) -> list[Any]:
    """A caller as JSON."""
    return [caller.key_id, caller.owner, sorted(caller.scopes)]


def read_caller(written: Sequence[Any]) -> Caller:
    """A caller."""
    key_id, owner, scopes = written
    return Caller(key_id=key_id, owner=owner, scopes=frozenset(map(KeyScope, scopes)))


def write_counts(counts: SessionCounts) -> Header:
    """The counts of a core as JSON."""
    outcomes = {outcome.value: number for outcome, number in counts.outcomes.items()}
    return {**{name: getattr(counts, name) for name in _NUMBERS}, "outcomes": outcomes}


def read_counts(written: Header) -> SessionCounts:
    """The counts of a core."""
    outcomes = {LedgerOutcome(name): number for name, number in written["outcomes"].items()}
    return SessionCounts(**{name: written[name] for name in _NUMBERS}, outcomes=outcomes)


def write_answer(answer: BatchAnswer) -> tuple[Header, bytes]:
    """The answer to a batch: fields of a header, and the body."""
    fields = {"lengths": [len(result) for result in answer.results], "errors": answer.errors}
    return fields, b"".join(answer.results)


def read_answer(header: Header, body: bytes) -> BatchAnswer:
    """The answer to a batch."""
    results: list[bytes] = []
    start = 0
    for length in header["lengths"]:
        results.append(body[start : start + length])
        start += length
    return BatchAnswer(results=results, errors=header["errors"])
