"""The overlay against two others that know the same rows: plain dictionaries, and SQLite."""

import pickle
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, ClassVar, TypeAlias

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from palaestra.envs.state import Base, Overlay, OverlaySnapshot, SqlProjection
from palaestra.envs.state.base import HASH_MASK, row_hash, row_words, words_of
from palaestra.errors import RowError, RowMissingError
from palaestra.records import Row
from property.budget import MACHINE_SHARDS, MACHINE_STEPS
from property.machines import CountedMachine, run_shard
from worlds.lab import SCHEMA as LAB
from worlds.lab import Probe
from worlds.library import SCHEMA as LIBRARY
from worlds.library import Book

Model: TypeAlias = dict[str, Row]

KEYS = [f"BK-{n}" for n in range(1, 7)]
WORDS = ["rain", "Rain", "café", "cafe", "Straße", "x²", "no", "42"]

keys = st.sampled_from(KEYS)
texts = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
picks = st.integers(0, 100)

books: dict[str, st.SearchStrategy[Any]] = {
    "title": texts | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4),
    "blurb": st.none() | texts,
    "tags": st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple),
    "copies": st.integers(-1, 2),
}
BOOKS = Base(
    LIBRARY,
    [
        Book(id=key, title=f"{word} {key}", blurb=None, tags=("a",), copies=1)
        for key, word in zip(KEYS[:3], WORDS, strict=False)
    ],
)

# Few values, so that rows often agree; many that compare alike and are written in more than one way.
floats = st.sampled_from([0, 0.0, -0.0, 1, 1.0, 0.1, 0.1 + 0.2, -1e300, 5e-324, 2.0**53]) | st.floats(
    allow_nan=False, allow_infinity=False
)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | floats | st.sampled_from(["", "1", "é", "\0"])
json = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
)
objects = st.dictionaries(st.sampled_from(["a", "b", "é"]), json, max_size=2)
probes: dict[str, st.SearchStrategy[Any]] = {
    "offset": floats,
    "gain": st.none() | floats,
    "price": st.sampled_from(["0", "-0.00", "1.5", "1.50", "0.10", "-999999.99", "999999.99"]).map(Decimal)
    | st.decimals(-999_999, 999_999, places=2)
    | st.integers(-3, 3),
    "settings": objects,
    "log": st.none() | objects,
    "seal": st.binary(max_size=3),
    "channels": st.lists(st.integers(-1, 1), max_size=2).map(tuple),
    "curve": st.lists(floats, max_size=2).map(tuple),
    "units": st.lists(st.sampled_from(["volt", "ohm"]), max_size=2).map(tuple),
}
PROBES = Base(
    LAB,
    [
        Probe(
            id=key, offset=0.5, gain=None, price=Decimal("1.50"), settings={"n": n}, log=None, seal=b"", channels=(n,),
            curve=(0.1,), units=("volt",),
        )
        for n, key in enumerate(KEYS[:3])
    ],
)  # fmt: skip


@dataclass(kw_only=True)
class Branch:
    """One overlay, and the model after each entry of its journal."""

    overlay: Overlay
    history: list[Model]

    @property
    def model(self) -> Model:
        return self.history[-1]

    def wrote(self, model: Model) -> None:
        self.history.append(model)


class OverlayMachine(CountedMachine):
    """Holds an overlay of rows of one kind; a subclass says which, and how they and their values are drawn."""

    kind: ClassVar[type[Row]]
    base: ClassVar[Base]
    rows: ClassVar[st.SearchStrategy[Any]]
    values: ClassVar[dict[str, st.SearchStrategy[Any]]]

    def __init__(self) -> None:
        super().__init__()
        planted = Overlay(self.base)
        # Any: a type checker knows no columns of a class that is only named here.
        first: Any = planted.get(self.kind, KEYS[0])
        planted.insert(replace(first, id=KEYS[4]))
        planted.delete(planted.get(self.kind, KEYS[2]))
        settled = planted.settle()
        self.beginning: Model = {b.id: b for b in settled.find(self.kind)}
        self.branches = [Branch(overlay=settled, history=[self.beginning])]
        self.saved: list[tuple[OverlaySnapshot, list[Model]]] = []
        self.projection = SqlProjection(settled)

    def branch(self, pick: int) -> Branch:
        return self.branches[pick % len(self.branches)]

    @rule(pick=picks, data=st.data())
    def insert(self, pick: int, data: st.DataObject) -> None:
        branch = self.branch(pick)
        row = data.draw(self.rows)
        try:
            row = branch.overlay.insert(row)
        except RowError:
            assert row.id in branch.model
        else:
            assert row.id not in branch.model
            branch.wrote({**branch.model, row.id: row})

    @rule(pick=picks, key=keys, data=st.data())
    def update(self, pick: int, key: str, data: st.DataObject) -> None:
        branch = self.branch(pick)
        change: dict[str, Any] = data.draw(st.fixed_dictionaries({}, optional=self.values))
        try:
            old = branch.overlay.get(self.kind, key)
        except RowMissingError:
            assert key not in branch.model
            return
        new = branch.overlay.update(old, **change)
        before: Any = branch.model[key]
        assert new == self.sealed(replace(before, **change))
        if new != old:
            branch.wrote({**branch.model, key: new})

    @rule(pick=picks, key=keys)
    def delete(self, pick: int, key: str) -> None:
        branch = self.branch(pick)
        row = branch.overlay.peek(self.kind, key)
        assert row == branch.model.get(key)
        if row is not None:
            branch.overlay.delete(row)
            branch.wrote({k: b for k, b in branch.model.items() if k != key})

    @rule(pick=picks, length=picks)
    def rollback(self, pick: int, length: int) -> None:
        branch = self.branch(pick)
        length %= len(branch.history)
        branch.overlay.rollback(length)
        del branch.history[length + 1 :]

    @rule(pick=picks)
    def ask_for_the_hash(self, pick: int) -> None:
        self.branch(pick).overlay.state_hash()  # it moves the point from which the next one follows the journal

    @precondition(lambda self: len(self.branches) < 4)
    @rule(pick=picks)
    def fork(self, pick: int) -> None:
        branch = self.branch(pick)
        self.branches.append(Branch(overlay=branch.overlay.fork(), history=branch.history.copy()))

    @rule(pick=picks)
    def snapshot(self, pick: int) -> None:
        branch = self.branch(pick)
        self.saved.append((branch.overlay.snapshot(), branch.history.copy()))

    @precondition(lambda self: bool(self.saved))
    @rule(pick=picks, which=picks, pickled=st.booleans())
    def restore(self, pick: int, which: int, pickled: bool) -> None:
        branch = self.branch(pick)
        snapshot, history = self.saved[which % len(self.saved)]
        branch.overlay.restore(pickle.loads(pickle.dumps(snapshot)) if pickled else snapshot)
        branch.history = history.copy()

    def sealed(self, row: Row) -> Row:
        seal = self.base.schema[row.table].seal
        return row if seal is None else seal(row)

    @precondition(lambda self: bool(self.base.schema[self.kind.table].searchable))
    @rule(pick=picks, text=texts)
    def search(self, pick: int, text: str) -> None:
        branch = self.branch(pick)
        found = branch.overlay.search(self.kind, text)
        words = set(words_of(text))
        columns = self.base.schema[self.kind.table].searchable
        wanted = [b for _, b in sorted(branch.model.items()) if words and words <= row_words(b, columns)]
        assert found == wanted
        self.projection.sync(branch.overlay)
        assert self.projection.search(self.kind, text) == wanted

    @rule(pick=picks, key=keys, data=st.data())
    def find(self, pick: int, key: str, data: st.DataObject) -> None:
        branch = self.branch(pick)
        column = data.draw(st.sampled_from(sorted(self.values)))
        equal: dict[str, Any] = data.draw(st.fixed_dictionaries({}, optional=self.values))
        if key in branch.model:
            equal[column] = getattr(branch.model[key], column)
        wanted = [b for _, b in sorted(branch.model.items()) if all(getattr(b, c) == v for c, v in equal.items())]
        assert branch.overlay.find(self.kind, **equal) == wanted
        self.projection.sync(branch.overlay)
        assert self.projection.find(self.kind, **equal) == wanted

    @rule(pick=picks)
    def replaying_the_journal_leads_to_the_same_state(self, pick: int) -> None:
        branch = self.branch(pick)
        copy = branch.overlay.fork()
        copy.rollback(0)
        for change in branch.overlay.journal:
            if change.after is None:
                assert change.before is not None
                copy.delete(change.before)
            elif change.before is None:
                copy.insert(change.after)
            else:
                copy.update(change.before, **{f.name: getattr(change.after, f.name) for f in fields(self.kind)})
        assert copy.state_hash() == branch.overlay.state_hash()
        assert copy.journal == branch.overlay.journal

    @invariant()
    def every_branch_is_as_its_model(self) -> None:
        for branch in self.branches:
            assert {b.id: b for b in branch.overlay.find(self.kind)} == branch.model
            assert len(branch.overlay.journal) == len(branch.history) - 1
            difference = {
                key: (self.beginning.get(key), branch.model.get(key))
                for key in KEYS
                if self.beginning.get(key) != branch.model.get(key)
            }
            assert {c.key: (c.before, c.after) for c in branch.overlay.changes()} == difference

    @invariant()
    def the_hash_is_a_sum_over_the_rows(self) -> None:
        for branch in self.branches:
            copy = branch.overlay.fork()  # so that asking does not change what is asked about
            total = sum(map(row_hash, branch.model.values())) & HASH_MASK
            assert copy.state_hash() == f"{total:032x}"


class BookMachine(OverlayMachine):
    kind, base, rows, values = Book, BOOKS, st.builds(Book, id=keys, **books), books


class ProbeMachine(OverlayMachine):
    """Every type of column that books lack."""

    kind, base, rows, values = Probe, PROBES, st.builds(Probe, id=keys, **probes), probes


@pytest.mark.parametrize("shard", MACHINE_SHARDS)
def test_overlay_dictionaries_and_sql_agree(shard: int) -> None:
    assert run_shard(BookMachine, shard, steps=MACHINE_STEPS) >= MACHINE_STEPS


@pytest.mark.parametrize("shard", MACHINE_SHARDS[:1] if len(MACHINE_SHARDS) < 8 else MACHINE_SHARDS)
def test_they_agree_on_floats_decimals_json_bytes_and_lists(shard: int) -> None:
    steps = MACHINE_STEPS // 4
    assert run_shard(ProbeMachine, shard, steps=steps) >= steps
