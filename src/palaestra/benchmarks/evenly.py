"""Selects evenly spaced items of a list."""

from collections.abc import Sequence


def evenly(ids: Sequence[str], limit: int | None) -> tuple[str, ...]:
    """At most `limit` of the ids, evenly spaced from the first one; all if `limit` is `None`."""
    if limit is None or len(ids) <= limit:
        return tuple(ids)
    return tuple(ids[place * len(ids) // limit] for place in range(limit))
