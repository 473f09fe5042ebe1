"""The immutable rows that every instance of a world shares, and the indexes over them."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from palaestra.envs.state.schema import Schema, number_of
from palaestra.errors import DefinitionError, RowError
from palaestra.protocols import ForkableState
from palaestra.records import Row

_WORD = re.compile(r"[^\W_]+")

_NO_STATES: Mapping[str, ForkableState] = {}

HASH_BITS = 128
HASH_MASK = (1 << HASH_BITS) - 1


def words_of(text: str) -> list[str]:
    """The words of `text`: runs of letters and digits, without case or accents."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return _WORD.findall("".join(c for c in folded if not unicodedata.combining(c)))


def row_words(row: Row, columns: Iterable[str]) -> set[str]:
    """Every word in those columns of `row`."""
    return {word for column in columns for word in words_of(getattr(row, column) or "")}


def row_hash(row: Row) -> int:
    """128 bits of one row, its table included; a set of rows hashes to their sum modulo 2**128.

    The sum is the additive multiset hash of Bellare and Micciancio 1997 ("AdHash"): it does not depend on order, and
    one write changes it by one subtraction and one addition.
    """
    return row.hash()


def _mirror(name: str, state: ForkableState) -> Iterator[Row]:
    """The rows that mirror a state as it is."""
    for change in state.diff(None):
        if change.table != name or change.after is None:
            raise DefinitionError(
                f"the state {name!r} tells its changes as rows of {change.table!r}; name it after their table"
            )
        yield change.after


class Base:
    """The rows of a populated world, never written again.

    Args:
        schema: The tables.
        rows: Every row, in any order.
        states: Further states beside the rows, each under the name of the table that mirrors it. The base keeps forks
            of them, as they are.

    Raises:
        DefinitionError: a state's changes are rows of another table than its name says.
        RowError: two rows share a key, a row names one that is not there, or a column refuses its value.
    """

    def __init__(
        self, schema: Schema, rows: Iterable[Row], *, states: Mapping[str, ForkableState] = _NO_STATES
    ) -> None:
        self.schema = schema
        self.states = {name: state.fork() for name, state in states.items()}
        rows = [*rows, *(row for name, state in states.items() for row in _mirror(name, state))]
        found: dict[str, dict[str, Row]] = {info.name: {} for info in schema}
        for row in rows:
            info = schema[row.table]
            if row.id in found[info.name]:
                raise RowError(f"two rows of {row.table} have the id {row.id!r}; ids are unique")
            found[info.name][row.id] = row if info.seal is None else info.seal(row)
        self.rows: Mapping[str, Mapping[str, Row]] = {
            table: dict(sorted(by_key.items())) for table, by_key in found.items()
        }
        self.listings: Mapping[str, tuple[Row, ...]] = {t: tuple(r.values()) for t, r in self.rows.items()}
        self.keys: Mapping[str, tuple[str, ...]] = {t: tuple(r) for t, r in self.rows.items()}
        self.last_numbers = {t: max(map(number_of, r), default=0) for t, r in self.rows.items()}
        self._indexes: dict[tuple[str, str], dict[Any, tuple[Row, ...]]] = {}
        self._words: dict[str, dict[str, frozenset[str]]] = {}
        self._hash: int | None = None
        for by_key in self.rows.values():
            for row in by_key.values():
                self.check_references(row, ())

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of all rows, of every table."""
        return frozenset(key for by_key in self.rows.values() for key in by_key)

    def __len__(self) -> int:
        return sum(map(len, self.rows.values()))

    def check_references(self, row: Row, also: Iterable[str]) -> None:
        """Raise `RowError` unless every id that `row` holds names a row here or in `also`."""
        info = self.schema[row.table]
        for name in info.references:
            column, value = info.columns[name], getattr(row, name)
            if value is None or value in also:
                continue
            if value not in self.rows[column.references or ""]:
                raise RowError(f"{row.table} {row.id}: {name} is {value!r}, but {column.references} has no such row")

    def check_columns(self, table: str, columns: Iterable[str]) -> None:
        """Raise `DefinitionError` unless `table` has all of `columns`."""
        known = self.schema[table].columns
        for column in columns:
            if column not in known:
                raise DefinitionError(f"{table} has no column {column!r}; it has {', '.join(known)}")

    def index(self, table: str, column: str) -> Mapping[Any, tuple[Row, ...]]:
        """Rows by the value of one column, each list ordered by key; built when first asked for."""
        index = self._indexes.get((table, column))
        if index is None:
            self.check_columns(table, [column])
            lists: dict[Any, list[Row]] = {}
            for row in self.listings[table]:
                lists.setdefault(getattr(row, column), []).append(row)
            index = {value: tuple(rows) for value, rows in lists.items()}
            self._indexes[table, column] = index
        return index

    def keys_with_word(self, table: str, word: str) -> frozenset[str]:
        """The keys of the rows whose searchable columns hold `word`."""
        by_word = self._words.get(table)
        if by_word is None:
            columns = self.schema[table].searchable
            if not columns:
                raise DefinitionError(f"{table} has no Searchable column, so it cannot be searched")
            sets: dict[str, set[str]] = {}
            for row in self.listings[table]:
                for found in row_words(row, columns):
                    sets.setdefault(found, set()).add(row.id)
            by_word = {found: frozenset(keys) for found, keys in sets.items()}
            self._words[table] = by_word
        return by_word.get(word, frozenset())

    def state_hash(self) -> int:
        """The hash of all rows."""
        if self._hash is None:
            self._hash = sum(row_hash(r) for rows in self.listings.values() for r in rows) & HASH_MASK
        return self._hash
