"""A representative part of a list."""

from collections.abc import Sequence


def evenly(ids: Sequence[str], limit: int | None) -> tuple[str, ...]:
    """At most `limit` of the ids at even distances, beginning with the first; all if there is no limit."""
    if limit is None or len(ids) <= limit:
        return tuple(ids)
    return tuple(ids[place * len(ids) // limit] for place in range(limit))
