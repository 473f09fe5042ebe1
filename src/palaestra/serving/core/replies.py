"""Stored answers, so that a repeated request is not run again."""

from typing import TypeAlias

from palaestra.errors import RequestConflictError

Asked: TypeAlias = tuple[str, object]
"""The view that an answer is written for, and the item."""
_REMEMBERED = 512
"""A request key is remembered until at least this many others have followed."""


class ReplyMemory:
    """Used request keys and the latest answers.

    A client repeats a request only while it waits for the answer, and plays the steps of a session one after another.
    So the latest answer of a session is enough. An older key is refused, because running it again would play a step
    twice.

    Args:
        kept: The number of answers to keep.
    """

    __slots__ = ("_fresh", "_kept", "_replies")

    def __init__(self, kept: int = 1) -> None:
        self._kept = kept
        self._replies: dict[str, tuple[Asked, bytes] | None] = {}
        self._fresh: list[str] = []

    def find(self, key: str | None, asked: Asked) -> bytes | None:
        """The answer to a request that was run before; `None` for a new one.

        Raises:
            RequestConflictError: the key stands for another request, or its answer is no longer kept.
        """
        if key is None or key not in self._replies:
            return None
        found = self._replies[key]
        if found is None:
            raise RequestConflictError(
                f"request {key!r} was run before, and others since; its answer is no longer kept"
            )
        before, reply = found
        if asked != before:
            raise RequestConflictError(f"request {key!r} was another request; give each request a key of its own")
        return reply

    def keep(self, key: str | None, asked: Asked, reply: bytes) -> None:
        """Remember the answer to a request that has just run; a request without a key is never repeated."""
        if key is None:
            return
        self._replies[key] = (asked, reply)
        self._fresh.append(key)
        if len(self._fresh) > self._kept:
            self._replies[self._fresh.pop(0)] = None
        if len(self._replies) > _REMEMBERED + self._kept:
            del self._replies[next(iter(self._replies))]
