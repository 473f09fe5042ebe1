"""Rows with further states beside them: one journal, one hash and one snapshot over all.

A state beside the rows (`ForkableState`) tells its changes as rows of one table. They are folded into the journal as if
the rows had been written, so that whatever reads rows reads the state too: criteria, allowances and guards, look-ups,
conditions, the SQL projection, rescoring from the log, the viewer. Those rows are a mirror; only the state writes them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palaestra.digest import digest
from palaestra.envs.state.base import Base
from palaestra.envs.state.overlay import Overlay, OverlaySnapshot
from palaestra.errors import RowError
from palaestra.protocols import ForkableState, R
from palaestra.records import Json, Row, RowChange


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fold:
    """Changes of states that were folded into the journal, from `start` to before `end`."""

    start: int
    end: int
    seen: Mapping[str, Any]
    """Where each state stood afterwards, as its snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedSnapshot(OverlaySnapshot):
    """An overlay's snapshot, and where its states stood after each fold."""

    folds: tuple[_Fold, ...]


def overlay_on(base: Base) -> Overlay:
    """An overlay on `base`, with the states that the base has beside its rows."""
    return AttachedOverlay(base) if base.states else Overlay(base)


class AttachedOverlay(Overlay):
    """An overlay whose base has states beside its rows.

    Attributes:
        states: The states, by the name of the table that mirrors them; this overlay's own, to be read and written.
    """

    __slots__ = ("_folds", "_log", "_states")

    def __init__(self, base: Base) -> None:
        self._log: list[RowChange] = []
        self._states = {name: state.fork() for name, state in base.states.items()}
        self._folds = [self._fold_at(0, 0)]
        super().__init__(base)

    @property
    def states(self) -> Mapping[str, ForkableState]:
        """The states beside the rows."""
        return self._states

    @property
    def journal(self) -> list[RowChange]:
        """Every write since the overlay settled, those of the states included."""
        self._fold()
        return self._log

    @journal.setter
    def journal(self, journal: list[RowChange]) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._log = journal

    def _fold_at(self, start: int, end: int) -> _Fold:
        return _Fold(start=start, end=end, seen={name: state.snapshot() for name, state in self._states.items()})

    def _fold(self) -> None:
        """Write what the states have changed since the last time into the journal and the mirror."""
        seen = self._folds[-1].seen
        changes = [change for name, state in self._states.items() for change in state.diff(seen[name])]
        if changes:
            start = len(self._log)
            self._folds.append(self._fold_at(start, start + len(changes)))
            for change in changes:
                self._write(change.table, change.key, change.before, change.after)

    # Reading: the mirror is brought up to date first

    def peek(self, kind: type[R], key: str) -> R | None:
        """The row under `key`, or `None`."""
        self._fold()
        return Overlay.peek(self, kind, key)

    def find(self, kind: type[R], /, **equal: Json) -> list[R]:
        """The rows whose columns equal all of `equal`, ordered by key; all rows when nothing is asked."""
        self._fold()
        return Overlay.find(self, kind, **equal)

    def keys(self, table: str) -> Sequence[str]:
        """The keys of a table, in order."""
        self._fold()
        return Overlay.keys(self, table)

    def search(self, kind: type[R], text: str) -> list[R]:
        """The rows whose searchable columns hold every word of `text`, ordered by key; none for no word."""
        self._fold()
        return Overlay.search(self, kind, text)

    # Writing: rows only

    def insert(self, row: R) -> R:
        """Add a row; `RowError` also where it mirrors a state."""
        self._must_be_row(row)
        return Overlay.insert(self, row)

    def update(self, row: R, /, **changes: Any) -> R:
        """Replace columns of a row that stands; `RowError` also where it mirrors a state."""
        self._must_be_row(row)
        return Overlay.update(self, row, **changes)

    def delete(self, row: Row) -> None:
        """Remove a row that stands; `RowError` also where it mirrors a state."""
        self._must_be_row(row)
        Overlay.delete(self, row)

    def _must_be_row(self, row: Row) -> None:
        if row.table in self._states:
            raise RowError(f"{row.table} {row.id!r} mirrors the state {row.table!r}; write the state, not the row")

    # Journal, diff and hash

    def rollback(self, length: int) -> None:
        """Undo writes until the journal has `length` entries again, and put the states back to where they stood then.

        Raises:
            RowError: the states never stood there: `length` lies between changes that one fold wrote.
        """
        self._fold()
        while self._folds[-1].end > length:
            fold = self._folds.pop()
            if fold.start < length:
                self._folds.append(fold)
                raise RowError(f"a rollback to {length} would undo a part of one change of a state")
        self._restore_states()
        Overlay.rollback(self, length)

    def _restore_states(self) -> None:
        for name, state in self._states.items():
            state.restore(self._folds[-1].seen[name])

    def changes(self) -> list[RowChange]:
        """The net difference to the settled state, that of the states included."""
        self._fold()
        return Overlay.changes(self)

    def state_hash(self) -> str:
        """A hash of the rows and the states."""
        rows = Overlay.state_hash(self)
        return digest((rows, {name: state.state_hash() for name, state in self._states.items()}))

    # Copies

    def settle(self) -> "AttachedOverlay":
        """A copy in which everything written so far is the beginning."""
        self._fold()
        copy = Overlay.settle(self)
        assert isinstance(copy, AttachedOverlay), "a fork is of its origin's class"
        copy._folds = [copy._fold_at(0, 0)]
        return copy

    def fork(self) -> "AttachedOverlay":
        """An independent copy over the same base."""
        self._fold()
        copy = Overlay.fork(self)
        assert isinstance(copy, AttachedOverlay), "a fork is of its origin's class"
        return copy

    def replica(self) -> Overlay:
        """A copy of the rows alone, the mirrors among them, to be written as a log says."""
        self._fold()
        return self._copy_into(Overlay.__new__(Overlay))

    def _copy_into(self, copy: Overlay) -> Overlay:
        if isinstance(copy, AttachedOverlay):
            copy._states = {name: state.fork() for name, state in self._states.items()}
            copy._folds = self._folds.copy()
        return Overlay._copy_into(self, copy)

    def snapshot(self) -> AttachedSnapshot:
        """What `restore` needs, on this overlay or on another one that settled alike."""
        self._fold()
        rows = Overlay.snapshot(self)
        return AttachedSnapshot(
            rows=rows.rows, journal=rows.journal, hash=rows.hash, hashed=rows.hashed, folds=tuple(self._folds)
        )

    def restore(self, snapshot: OverlaySnapshot) -> None:
        """Be as the overlay that gave `snapshot` was; it must have settled on the same rows and states."""
        assert isinstance(snapshot, AttachedSnapshot), "a snapshot is restored where one like it was taken"
        self._folds = list(snapshot.folds)
        self._restore_states()
        Overlay.restore(self, snapshot)
