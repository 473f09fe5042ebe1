"""The changes of runs: the rows that the work was about, and those that tools changed along with them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime

from palaestra.records import Json, Row, RowChange, Verdict
from palaestra.rubrics.criterion import MET, UNMET, Allowance, Criterion, changed_columns
from palaestra.rubrics.derivation.runs import SolutionTrace, TraceStep
from palaestra.rubrics.evidence import Evidence
from palaestra.rubrics.expected import nearly
from palaestra.rubrics.library import expect_change, expect_row

_DIGITS = re.compile(r"\d{2,}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEffect:
    """The total effect of a run on one row."""

    table: str
    key: str
    before: Row | None
    first: Row | None
    """The row after the first call that wrote it."""
    after: Row | None
    calls: tuple[int, ...]
    """The calls that wrote it, by position."""
    main: bool
    """Whether a call was about this row; otherwise a tool changed it along with another."""
    wording: frozenset[Json]
    """The free text in the arguments of the calls that wrote it."""
    made: frozenset[str]
    """The ids of all rows that the run created."""

    @property
    def created(self) -> bool:
        """Whether the row is new."""
        return self.before is None and self.after is not None

    def free(self, column: str) -> bool:
        """Whether the value of a column does not matter: a time, a generated id, free text."""
        value = getattr(self.after, column)
        if isinstance(value, datetime) or value in self.wording or value in self.made:
            return True
        number = _DIGITS.search(self.key) if self.before is None else None
        return number is not None and isinstance(value, str) and number.group() in value

    def columns(self) -> list[str]:
        """The columns that the run wrote, except the id."""
        assert self.after is not None, "a row that is gone has no columns"
        names = [f.name for f in fields(self.after) if f.name != "id"]
        if self.before is None:
            return names
        written = changed_columns(self.change) | changed_columns(replace_after(self.change, self.first))
        return [name for name in names if name in written]

    @property
    def change(self) -> RowChange:
        """The net difference."""
        return RowChange(table=self.table, key=self.key, before=self.before, after=self.after)


def replace_after(change: RowChange, after: Row | None) -> RowChange:
    """A change with another row after it."""
    return replace(change, after=after)


def effects(run: SolutionTrace) -> list[RowEffect]:
    """The effect of `run` on each row that it wrote, in the order of the last writes."""
    made = frozenset(c.key for step in run.steps for c in step.changes if c.before is None)
    found: dict[tuple[str, str], RowEffect] = {}
    for index, step in enumerate(run.steps):
        net = _net(step.changes)
        main = set(_main(step, net))
        for change in net:
            place = (change.table, change.key)
            past = found.pop(place, None)
            found[place] = RowEffect(
                table=change.table,
                key=change.key,
                before=past.before if past else change.before,
                first=past.first if past else change.after,
                after=change.after,
                calls=(*(past.calls if past else ()), index),
                main=place in main or bool(past and past.main),
                wording=step.wording() | (past.wording if past else frozenset[Json]()),
                made=made,
            )
    return list(found.values())


def _net(changes: Iterable[RowChange]) -> list[RowChange]:
    """The net difference of one call."""
    net: dict[tuple[str, str], RowChange] = {}
    for change in changes:
        past = net.get((change.table, change.key))
        net[change.table, change.key] = change if past is None else replace(past, after=change.after)
    return [change for change in net.values() if change.before != change.after]


def _main(step: TraceStep, net: Sequence[RowChange]) -> Iterator[tuple[str, str]]:
    """The rows that a call was about: those it created, or else those it names, or else all that it wrote."""
    new = [c for c in net if c.before is None]
    named = [c for c in net if c.key in step.event.named]
    return ((c.table, c.key) for c in new or named or net)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonEffect:
    """A row that all runs left alike, except for values that may differ."""

    effect: RowEffect
    """The first run's effect."""
    others: tuple[RowEffect, ...]
    """The effects of the other runs."""

    @property
    def all(self) -> tuple[RowEffect, ...]:
        """The effect of each run."""
        return (self.effect, *self.others)

    def values(self) -> dict[str, object]:
        """The values that the row must hold: each a value, or a frozenset of those that runs left."""
        names = dict.fromkeys(name for e in self.all for name in e.columns())
        checked = [name for name in names if not any(e.free(name) for e in self.all)]
        return {name: _one_or_any(getattr(e.after, name) for e in self.all) for name in checked}

    def criterion(self, id: str, after: Sequence[str]) -> Criterion:
        """Expect the row as the runs left it; permit the change and the intermediate writes."""
        effect = self.effect
        if effect.after is None:
            return _expect_deleted(effect, id, after)
        values = self.values()
        if effect.before is None:
            expected = expect_row(type(effect.after), values, id=id, after=after)
            steady = {
                n: v for n, v in values.items() if all(getattr(e.first, n) == getattr(e.after, n) for e in self.all)
            }
            return replace(expected, allows=(Allowance(table=effect.table, values=tuple(steady.items())),))
        loose = [n for e in self.all for n in e.columns() if n not in values or len(e.calls) > 1]
        return expect_change(effect.before, values, id=id, after=after, also=loose)


def _expect_deleted(effect: RowEffect, id: str, after: Sequence[str]) -> Criterion:
    """Expect that a row is gone."""
    row = effect.before
    assert row is not None, "a row that was never there is not deleted"

    def check(evidence: Evidence) -> Verdict:
        return MET if evidence.state.peek(type(row), row.id) is None else UNMET

    return Criterion(
        id=id,
        text=f"{row.id} ({row.table}) is gone.",
        check=check,
        after=tuple(after),
        tables=frozenset({row.table}),
        allows=(Allowance(table=row.table, key=row.id, deletes=True),),
    )


def outcomes(by_run: Sequence[Sequence[RowEffect]]) -> list[CommonEffect]:
    """The rows that the work was about and that every run changed, in the order of the first run."""
    mine = [effect for effect in by_run[0] if effect.main and effect.before != effect.after]
    paired = [_partners(mine, theirs) for theirs in by_run[1:]]
    found = [(effect, [partners.get(n) for partners in paired]) for n, effect in enumerate(mine)]
    return [
        CommonEffect(effect=effect, others=tuple(p for p in partners if p is not None))
        for effect, partners in found
        if None not in partners
    ]


def _partners(mine: Sequence[RowEffect], theirs: Sequence[RowEffect]) -> dict[int, RowEffect]:
    """By position in `mine`: the same row in another run; new rows are paired by similarity."""
    found = {
        n: e
        for n, effect in enumerate(mine)
        for e in theirs
        if not effect.created and (e.table, e.key) == (effect.table, effect.key) and e.before != e.after
    }
    new = [e for e in theirs if e.created]
    pairs = [
        (_alike(effect, e), n, m)
        for n, effect in enumerate(mine)
        for m, e in enumerate(new)
        if effect.created and e.table == effect.table
    ]
    taken: set[int] = set()
    for _, n, m in sorted(pairs, key=lambda pair: (-pair[0], *pair[1:])):
        if n not in found and m not in taken:
            found[n] = new[m]
            taken.add(m)
    return found


def _alike(one: RowEffect, other: RowEffect) -> int:
    """The number of columns in which two new rows of one table agree."""
    names = [n for n in one.columns() if not one.free(n)]
    return sum(getattr(one.after, n) == getattr(other.after, n) for n in names)


def side_effects(by_run: Sequence[Sequence[RowEffect]], expected: Sequence[CommonEffect]) -> list[Allowance]:
    """Permit the runs' other changes: exactly, if one call of each run made them, otherwise in any way."""
    covered = {id(e) for outcome in expected for e in outcome.all}
    left = [effect for run in by_run for effect in run if id(effect) not in covered]
    rows: dict[tuple[str, str], list[RowEffect]] = {}
    for effect in left:
        rows.setdefault((effect.table, effect.key), []).append(effect)
    return [a for same in rows.values() for a in dict.fromkeys(_allowances(same))]


def _allowances(same: Sequence[RowEffect]) -> Iterator[Allowance]:
    effect = same[0]
    if effect.before is None:
        for new in (e for e in same if e.first is not None):
            kept = replace(new, after=new.first)
            values = tuple((n, nearly(getattr(new.first, n))) for n in kept.columns() if not kept.free(n))
            yield Allowance(table=new.table, values=values)
        return
    if any(e.after is None for e in same):
        yield Allowance(table=effect.table, key=effect.key, deletes=True)
    standing = [e for e in same if e.after is not None]
    names = dict.fromkeys(name for e in standing for name in e.columns())
    loose = frozenset(n for n in names if any(e.free(n) or len(e.calls) > 1 for e in standing))
    values = tuple((n, _one_or_any(getattr(e.after, n) for e in standing)) for n in names if n not in loose)
    if names:
        yield Allowance(table=effect.table, key=effect.key, values=values, columns=loose)


def _one_or_any(values: Iterable[object]) -> object:
    """The value that all share, or the frozenset of the values; floats may differ by the rounding of sums."""
    found = frozenset(nearly(value) for value in values)
    return next(iter(found)) if len(found) == 1 else found
