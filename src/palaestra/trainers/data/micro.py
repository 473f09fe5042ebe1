"""Splitting a batch into micro-batches, so that no pass exceeds a budget; the step computes the same."""

from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, Self, TypeAlias

from palaestra.record import record
from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layouts import LayoutName
from palaestra.trainers.data.layouts.needed import find_needed_tokens
from palaestra.trainers.data.layouts.prefixes import common, length, segment_keys

_Keys: TypeAlias = Sequence[bytes]
"""The needed segments of a trajectory, as keys of `prefixes`."""


def split(batch: TokenBatch, tokens: int, layout: LayoutName) -> list[TokenBatch]:
    """Split a batch into micro-batches with at most `tokens` tokens per pass; every trajectory is in exactly one.

    A trajectory that needs more tokens is alone in its micro-batch. With the packed layout, trajectories are taken in
    order; with the padded one, by length, so that there is little padding; with the shared one, groups stay together if
    they fit, and neighbours share prefixes. Equal batches are split equally.

    Args:
        batch: The batch to train on.
        tokens: The budget in tokens of a pass: padding counts, and shared tokens count once.
        layout: The layout in which the micro-batches will be processed.
    """
    keys = _keys(batch)
    order = list(range(batch.trajectories))
    empty: _Pass
    match layout:
        case "packed":
            units, empty = [[one] for one in order], _Packed()
        case "padded":
            width = [max(map(length, own), default=0) for own in keys]
            units, empty = [[one] for one in sorted(order, key=width.__getitem__)], _Padded()
        case "shared":
            empty = _Shared()
            units = [part for group in _groups(batch, keys) for part in _fitting(group, keys, empty, tokens)]
    return [batch.select(sorted(chosen)) for chosen in _fill(units, keys, empty, tokens)]


def _keys(batch: TokenBatch) -> list[list[bytes]]:
    """The needed segments of each trajectory, as keys."""
    need = find_needed_tokens(batch)
    keys: list[list[bytes]] = [[] for _ in range(batch.trajectories)]
    for trajectory, key in zip(
        batch.trajectory_S.tolist(), segment_keys(batch.ids_T[need.token_K], need.length_S), strict=True
    ):
        if key:
            keys[trajectory].append(key)
    return keys


class _Pass(Protocol):
    """A pass that is being filled."""

    @property
    def size(self) -> int:
        """The number of tokens so far."""
        ...

    def with_(self, keys: _Keys) -> Self:
        """The pass with more segments."""
        ...


@record
class _Packed:
    size: int = 0

    def with_(self, keys: _Keys) -> "_Packed":
        return _Packed(size=self.size + sum(map(length, keys)))


@record
class _Padded:
    rows: int = 0
    width: int = 0

    @property
    def size(self) -> int:
        return self.rows * self.width

    def with_(self, keys: _Keys) -> "_Padded":
        return _Padded(rows=self.rows + len(keys), width=max([self.width, *map(length, keys)]))


@record
class _Shared:
    size: int = 0
    sorted: tuple[bytes, ...] = ()

    def with_(self, keys: _Keys) -> "_Shared":
        size, inside = self.size, list(self.sorted)
        for key in keys:
            place = bisect(inside, key)
            beside = inside[max(place - 1, 0) : place + 1]
            size += length(key) - max((common(key, other) for other in beside), default=0)
            inside.insert(place, key)
        return _Shared(size=size, sorted=tuple(inside))


def _fill(units: Iterable[list[int]], keys: Sequence[list[bytes]], empty: _Pass, tokens: int) -> Iterator[list[int]]:
    """Yield units joined in order, as long as they fit into a pass."""
    chosen: list[int] = []
    filled = empty
    for unit in units:
        more = filled.with_(_of(unit, keys))
        if chosen and more.size > tokens:
            yield chosen
            chosen, more = [], empty.with_(_of(unit, keys))
        chosen, filled = chosen + unit, more
    if chosen:
        yield chosen


def _of(unit: Iterable[int], keys: Sequence[list[bytes]]) -> list[bytes]:
    return [key for one in unit for key in keys[one]]


def _groups(batch: TokenBatch, keys: Sequence[list[bytes]]) -> list[list[int]]:
    """The trajectories of each group; groups and their members are sorted by their first tokens."""
    groups: dict[int, list[int]] = {}
    for trajectory, group in enumerate(batch.group_R.tolist()):
        groups.setdefault(group, []).append(trajectory)
    ordered = [sorted(members, key=keys.__getitem__) for members in groups.values()]
    return sorted(ordered, key=lambda members: keys[members[0]])


def _fitting(group: list[int], keys: Sequence[list[bytes]], empty: _Pass, tokens: int) -> list[list[int]]:
    """The whole group as one unit if it fits into a pass, otherwise each member as a unit."""
    fits = empty.with_(_of(group, keys)).size <= tokens
    return [group] if fits else [[one] for one in group]
