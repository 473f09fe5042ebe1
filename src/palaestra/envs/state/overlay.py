"""The live state of one world: a journaled overlay on a shared immutable base.

A write is one journal entry, and there is no other way to change a row. The overlay holds only rows that differ from
the base, so an instance of a world weighs what was written in it, and a copy costs what was written in it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any, cast

from palaestra.envs.state.base import HASH_MASK, Base, row_hash, row_words, words_of
from palaestra.envs.state.schema import number_of
from palaestra.errors import RowError, RowMissingError
from palaestra.frozen import freeze
from palaestra.protocols import ForkableState, R
from palaestra.record import constructor
from palaestra.records import Json, Row, RowChange

_Rows = dict[str, dict[str, Row | None]]

_row_change = constructor(RowChange)
_by_key = attrgetter("id")


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlaySnapshot:
    """Everything that an overlay adds to its base."""

    rows: Mapping[str, Mapping[str, Row | None]]
    journal: tuple[RowChange, ...]
    hash: int
    """The hash of the rows after the first `hashed` entries of the journal, so that going back hashes nothing twice."""
    hashed: int


class Overlay:
    """Rows to read and write, over `base`. It implements `palaestra.protocols.State`."""

    __slots__ = (
        "_hash",
        "_hash_text",
        "_hashed",
        "_last_numbers",
        "_origin",
        "_rows",
        "_settled_hash",
        "base",
        "journal",
    )

    def __init__(self, base: Base) -> None:
        self.base = base
        self.journal: list[RowChange] = []
        """Every write since the overlay settled, in order."""
        self._rows: _Rows = {}
        # The overlay as it settled: what `changes` compares with. Shared by forks and never written.
        self._origin: _Rows = {}
        self._last_numbers: Mapping[str, int] = base.last_numbers
        # `_hash` is the hash of the rows after the first `_hashed` entries of the journal.
        self._settled_hash = self._hash = base.state_hash()
        self._hashed = 0
        self._hash_text = ""

    @property
    def states(self) -> Mapping[str, ForkableState]:
        """The states beside the rows, by name; none here."""
        return {}

    # Reading

    def peek(self, kind: type[R], key: str) -> R | None:
        """The row under `key`, or `None`."""
        table = kind.table
        over = self._rows.get(table)
        if over is not None and key in over:
            return cast("R | None", over[key])
        return cast("R | None", self.base.rows[table].get(key))

    def has_row(self, key: str) -> bool:
        """Whether some table has a row of that id."""
        if key in self.base.ids or key in chain.from_iterable(self._rows.values()):
            return any(self.peek(info.kind, key) is not None for info in self.base.schema)
        return False

    def get(self, kind: type[R], key: str) -> R:
        """The row under `key`.

        Raises:
            RowMissingError: there is none.
        """
        row = self.peek(kind, key)
        if row is None:
            raise RowMissingError.of(kind.__name__, key)
        return row

    def find(self, kind: type[R], /, **equal: Json) -> list[R]:
        """The rows whose columns equal all of `equal`, ordered by key; all rows when nothing is asked."""
        table = kind.table
        asked = list(equal.items())
        column, value = asked[0] if asked else ("", None)
        rows: Sequence[Row]
        try:
            rows = self.base.index(table, column).get(value, ()) if asked else self.base.listings[table]
        except TypeError:
            if (
                column not in self.base.schema[table].columns
                or self.base.schema[table].columns[column].type is not dict
            ):
                raise
            # Plain dictionaries and lists have no hash; the rows hold their unchanging twins.
            rows = self.base.index(table, column).get(freeze(value), ())
        if len(asked) > 1:
            self.base.check_columns(table, equal)
        over = self._rows.get(table)
        if over:
            rows = list(rows)
            # A few rows among many are written, so each finds its place in what the base holds in order.
            for key, row in over.items():
                place = bisect_left(rows, key, key=_by_key)
                if place < len(rows) and rows[place].id == key:
                    del rows[place]
                if row is not None and (not asked or getattr(row, column) == value):
                    rows.insert(place, row)
        if len(asked) > 1:
            rows = [r for r in rows if all(getattr(r, c) == v for c, v in asked[1:])]
        return cast("list[R]", list(rows))

    def keys(self, table: str) -> Sequence[str]:
        """The keys of a table, in order."""
        over = self._rows.get(table)
        if not over:
            return self.base.keys[table]
        standing = [key for key in self.base.keys[table] if key not in over]
        standing += [key for key, row in over.items() if row is not None]
        standing.sort()
        return standing

    def search(self, kind: type[R], text: str) -> list[R]:
        """The rows whose searchable columns hold every word of `text`, ordered by key; none for no word."""
        words = set(words_of(text))
        if not words:
            return []
        table = kind.table
        first, *others = (self.base.keys_with_word(table, word) for word in sorted(words))
        keys = first.intersection(*others)
        over = self._rows.get(table) or {}
        columns = self.base.schema[table].searchable
        found = [self.base.rows[table][key] for key in keys if key not in over]
        found += [r for r in over.values() if r is not None and words <= row_words(r, columns)]
        return cast("list[R]", sorted(found, key=_by_key))

    # Writing

    def insert(self, row: R) -> R:
        """Add a row and return it as it stands: with every value in the one form that its column has.

        Raises:
            RowError: its key is taken, or a column refuses its value.
        """
        seal = self.base.schema[row.table].seal
        if seal is not None:
            row = cast("R", seal(row))
        if self.peek(type(row), row.id) is not None:
            raise RowError(f"{row.table} has a row {row.id!r} already; ask next_id for a new id")
        self._write(row.table, row.id, None, row)
        return row

    def update(self, row: R, /, **changes: Any) -> R:
        """Replace columns of a row that stands, and return the new row.

        Raises:
            RowError: `row` is not the row that stands now: it was changed or deleted since it was read. Or its id
                would change, or a column refuses its value.
        """
        self._must_stand(row)
        new = self._change(row, changes)
        if new.id != row.id:
            raise RowError(f"{row.table} {row.id!r} keeps its id; delete it and insert {new.id!r}")
        if new != row:
            self._write(row.table, row.id, row, new)
        return new

    def delete(self, row: Row) -> None:
        """Remove a row that stands; `RowError` as for `update`."""
        self._must_stand(row)
        self._write(row.table, row.id, row, None)

    def next_id(self, kind: type[Row]) -> str:
        """An id that no row of this kind has had in this episode or before."""
        table = kind.table
        inserted = [number_of(c.key) for c in self.journal if c.table == table and c.before is None]
        return f"{kind.prefix}{max([self._last_numbers[table], *inserted]) + 1}"

    def _change(self, row: R, changes: dict[str, Any]) -> R:
        info = self.base.schema[row.table]
        columns = info.columns
        # `dataclasses.replace` does the same in three times the time; it is left to say what is wrong.
        if not changes.keys() <= columns.keys():
            return replace(row, **changes)
        new = type(row)(**({name: getattr(row, name) for name in columns} | changes))
        return new if info.seal is None else cast("R", info.seal(new))

    def _must_stand(self, row: Row) -> None:
        standing = self.peek(type(row), row.id)
        if standing is not row and standing != row:
            raise RowError(f"{row.table} {row.id!r} was changed or deleted since this row was read; read it again")

    def _write(self, table: str, key: str, before: Row | None, after: Row | None) -> None:
        self._rows.setdefault(table, {})[key] = after
        self.journal.append(_row_change(table=table, key=key, before=before, after=after))

    # Journal, diff and hash

    def rollback(self, length: int) -> None:
        """Undo writes until the journal has `length` entries again; at 0 the rows are as they settled."""
        if length < self._hashed:
            self._hash, self._hashed, self._hash_text = self._settled_hash, 0, ""
        while len(self.journal) > length:
            change = self.journal.pop()
            self._rows[change.table][change.key] = change.before

    def changes(self) -> list[RowChange]:
        """The net difference to the settled state: one entry for each row that is not as it was, by table and key."""
        return sorted(self._changes(), key=attrgetter("table", "key"))

    def _changes(self) -> Iterator[RowChange]:
        for table, rows in self._rows.items():
            origin = self._origin.get(table, {})
            base = self.base.rows[table]
            for key, after in rows.items():
                before = origin[key] if key in origin else base.get(key)
                if after is not before and after != before:
                    yield RowChange(table=table, key=key, before=before, after=after)

    def state_hash(self) -> str:
        """A hash of the rows and nothing but the rows; it follows the journal, so it costs what was written."""
        if self._hashed == len(self.journal) and self._hash_text:
            return self._hash_text
        total = self._hash
        for change in self.journal[self._hashed :]:
            if change.before is not None:
                total -= row_hash(change.before)
            if change.after is not None:
                total += row_hash(change.after)
        self._hash = total & HASH_MASK
        self._hashed = len(self.journal)
        self._hash_text = f"{self._hash:032x}"
        return self._hash_text

    # Copies

    def settle(self) -> "Overlay":
        """A copy in which everything written so far is the beginning: an empty journal, no changes.

        Raises:
            RowError: a row names one that is not there.
        """
        planted = [r for rows in self._rows.values() for r in rows.values() if r is not None]
        ids = {r.id for r in planted}
        for row in planted:
            self.base.check_references(row, ids)
        self._check_deletions()
        self.state_hash()
        copy = self.fork()
        copy.journal.clear()
        copy._settled_hash = copy._hash
        copy._hashed = 0
        copy._hash_text = ""
        copy._origin = {table: dict(rows) for table, rows in self._rows.items()}
        copy._last_numbers = {
            table: max([last, *map(number_of, self._rows.get(table, ()))]) for table, last in self._last_numbers.items()
        }
        return copy

    def _check_deletions(self) -> None:
        """Raise `RowError` where a row that stands names one that was deleted."""
        gone = {(table, key) for table, rows in self._rows.items() for key, row in rows.items() if row is None}
        for info in self.base.schema:
            for name in info.references:
                table = info.columns[name].references
                for key in (key for gone_from, key in sorted(gone) if gone_from == table):
                    if left := self.find(info.kind, **{name: key}):
                        raise RowError(f"{info.name} {left[0].id}: {name} is {key!r}, but that row was deleted")

    def fork(self) -> "Overlay":
        """An independent copy over the same base."""
        return self._copy_into(type(self).__new__(type(self)))

    def replica(self) -> "Overlay":
        """A copy of the rows, to be written as a log says."""
        return self.fork()

    def _copy_into(self, copy: "Overlay") -> "Overlay":
        copy.base = self.base
        copy.journal = self.journal.copy()
        copy._rows = {table: rows.copy() for table, rows in self._rows.items()}
        copy._origin = self._origin
        copy._last_numbers = self._last_numbers
        copy._settled_hash = self._settled_hash
        copy._hash = self._hash
        copy._hashed = self._hashed
        copy._hash_text = self._hash_text
        return copy

    def snapshot(self) -> OverlaySnapshot:
        """What `restore` needs, on this overlay or on another one that settled alike."""
        return OverlaySnapshot(
            rows={table: rows.copy() for table, rows in self._rows.items()},
            journal=tuple(self.journal),
            hash=self._hash,
            hashed=self._hashed,
        )

    def restore(self, snapshot: OverlaySnapshot) -> None:
        """Be as the overlay that gave `snapshot` was; it must have settled on the same rows."""
        self._rows = {table: dict(rows) for table, rows in snapshot.rows.items()}
        self.journal = list(snapshot.journal)
        self._hash = snapshot.hash
        self._hashed = snapshot.hashed
        self._hash_text = ""
