"""A part of a list that stands for all of it."""

from collections.abc import Sequence


def evenly(ids: Sequence[str], limit: int | None) -> tuple[str, ...]:
    """At most `limit` of the ids, from the first on at even distances; all where there is no limit."""
    if limit is None or len(ids) <= limit:
        return tuple(ids)
    return tuple(ids[place * len(ids) // limit] for place in range(limit))
