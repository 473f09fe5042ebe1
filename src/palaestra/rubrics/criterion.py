"""A criterion: one sentence that an expert would check, and the code that checks it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from itertools import compress
from operator import ne
from typing import Literal, TypeAlias, cast

from palaestra.records import CriterionSpec, Layer, Row, RowChange, Verdict
from palaestra.rubrics.columns import columns_of, values_of
from palaestra.rubrics.evidence import Evidence
from palaestra.rubrics.expected import Close, UnorderedItems, same

Check: TypeAlias = Callable[[Evidence], Verdict]

MET = Verdict(met=True, reason="met")
UNMET = Verdict(met=False, reason="not met")

HARM = 100
"""The default points that a broken prohibition costs: while one is broken, no score is above 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Changes that a task permits, so that `collateral` does not count them."""

    table: str
    key: str | None = None
    """The row that may change; `None` for rows that may be created."""
    values: tuple[tuple[str, object], ...] = ()
    """The values that a created row must have, and those that columns of a changed one may take. A frozenset stands for
    any one of its members, `close(...)` and `in_any_order(...)` for what they match."""
    columns: frozenset[str] = frozenset()
    """Further columns of the row `key` that may change freely."""
    times: int = 1
    """Maximum rows that may be created."""
    deletes: bool = False
    """Permits deleting the row `key`, and nothing else."""

    def covers(self, change: RowChange) -> bool:
        """Whether this allowance alone permits `change`."""
        if change.table != self.table:
            return False
        if self.key is not None and change.key != self.key:
            return False
        if self.deletes or change.after is None:
            return self.deletes and change.after is None and change.key == self.key
        if self.key is None or change.before is None:
            return self.key is None and change.before is None and has_values(change.after, self.values)
        columns = changed_columns(change) - self.columns
        wanted = [(name, value) for name, value in self.values if name in columns]
        return len(wanted) == len(columns) and has_values(change.after, wanted)


def has_values(row: Row, values: Iterable[tuple[str, object]]) -> bool:
    """Whether the columns of `row` have these values; a frozenset stands for any one of its members."""
    for name, value in values:
        found = getattr(row, name)
        if found != value and (type(value) in _EXACT or not _matches(found, value)):
            return False
    return True


_EXACT = frozenset({str, int, bool, type(None), date, datetime})
"""The types of values that are compared only for equality."""


def _matches(found: object, wanted: object) -> bool:
    """Whether a value matches the wanted one without being equal."""
    if isinstance(wanted, frozenset):
        options = cast("frozenset[object]", wanted)
        return found in options or any(same(found, option) for option in _loose_options(options))
    return _is_loose(wanted) and same(found, wanted)


@lru_cache(maxsize=4_096)
def _loose_options(options: frozenset[object]) -> tuple[object, ...]:
    """The options that are compared by more than equality."""
    return tuple(option for option in options if _is_loose(option))


def _is_loose(wanted: object) -> bool:
    """Whether a value is compared by more than equality."""
    return isinstance(wanted, Close | UnorderedItems | list | tuple)


def changed_columns(change: RowChange) -> set[str]:
    """The columns in which a row differs before and after; all columns if it was created or deleted."""
    row = change.after or change.before
    assert row is not None, "a change has a row on at least one side"
    names = columns_of(type(row))
    if change.before is None or change.after is None:
        return set(names)
    return set(compress(names, map(ne, values_of(change.before), values_of(change.after))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One line of a rubric.

    `about` says when it is checked. An "event" criterion looks at the latest call and, once met, stays met. A "state"
    criterion looks at the rows; it is met while it holds, and its reward is taken back when it stops holding. An
    "answer" criterion is checked once, at the end.
    """

    id: str
    text: str
    """The sentence that people read."""
    check: Check
    kind: Literal["expect", "forbid"] = "expect"
    points: int | None = None
    """The points that it wins (expect) or costs (forbid). Default: a share of the rest of 100, or `HARM`."""
    layer: Layer = "outcome"
    after: tuple[str, ...] = ()
    """Criteria that an earlier call must have met. Work before them does not count."""
    about: Literal["event", "state", "answer"] = "state"
    tools: frozenset[str] | None = None
    """An "event" criterion is checked only on calls of these tools; `None` for all."""
    calls: Literal["all", "reads", "writes"] = "all"
    """An "event" criterion is checked on all calls, only on those that wrote no row ("reads"), or only on those that
    did ("writes")."""
    tables: frozenset[str] | None = None
    """A "state" criterion is checked again only after writes to these tables; `None` for all."""
    allows: tuple[Allowance, ...] = ()
    """The changes that meeting it makes."""
    unordered: frozenset[str] = frozenset()
    """The names of an answer's values whose order does not count."""
    names: frozenset[str] = frozenset()
    """The ids of records, or the day, that a message must name."""

    def spec(self, points: int) -> CriterionSpec:
        """The criterion as a record, worth `points`."""
        return CriterionSpec(
            id=self.id, text=self.text, kind=self.kind, points=points, layer=self.layer, after=self.after
        )
