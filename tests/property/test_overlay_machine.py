"""The overlay against two others that know the same rows: plain dictionaries, and SQLite."""

import pickle
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from palaestra.envs.state import Base, Overlay, OverlaySnapshot, SqlProjection
from palaestra.envs.state.base import HASH_MASK, row_hash, words_of
from palaestra.errors import RowError, RowMissingError
from property.budget import MACHINE_SHARDS, MACHINE_STEPS
from property.machines import CountedMachine, run_shard
from worlds.library import SCHEMA, Book

Model: TypeAlias = dict[str, Book]

KEYS = [f"BK-{n}" for n in range(1, 7)]
WORDS = ["rain", "Rain", "café", "cafe", "Straße", "x²", "no", "42"]

keys = st.sampled_from(KEYS)
texts = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
values: dict[str, st.SearchStrategy[Any]] = {
    "title": texts | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4),
    "blurb": st.none() | texts,
    "tags": st.lists(st.sampled_from(["a", "b"]), max_size=2).map(tuple),
    "copies": st.integers(-1, 2),
}
books = st.builds(Book, id=keys, **values)
changes = st.fixed_dictionaries({}, optional=values)
picks = st.integers(0, 100)

BASE = Base(
    SCHEMA,
    [
        Book(id=key, title=f"{word} {key}", blurb=None, tags=("a",), copies=1)
        for key, word in zip(KEYS[:3], WORDS, strict=False)
    ],
)


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
    def __init__(self) -> None:
        super().__init__()
        planted = Overlay(BASE)
        planted.insert(Book(id=KEYS[4], title="planted rain", blurb=None, tags=(), copies=0))
        planted.delete(planted.get(Book, KEYS[2]))
        settled = planted.settle()
        self.beginning: Model = {b.id: b for b in settled.find(Book)}
        self.branches = [Branch(overlay=settled, history=[self.beginning])]
        self.saved: list[tuple[OverlaySnapshot, list[Model]]] = []
        self.projection = SqlProjection(settled)

    def branch(self, pick: int) -> Branch:
        return self.branches[pick % len(self.branches)]

    @rule(pick=picks, book=books)
    def insert(self, pick: int, book: Book) -> None:
        branch = self.branch(pick)
        try:
            branch.overlay.insert(book)
        except RowError:
            assert book.id in branch.model
        else:
            assert book.id not in branch.model
            branch.wrote({**branch.model, book.id: book})

    @rule(pick=picks, key=keys, change=changes)
    def update(self, pick: int, key: str, change: dict[str, Any]) -> None:
        branch = self.branch(pick)
        try:
            old = branch.overlay.get(Book, key)
        except RowMissingError:
            assert key not in branch.model
            return
        new = branch.overlay.update(old, **change)
        assert new == replace(branch.model[key], **change)
        if new != old:
            branch.wrote({**branch.model, key: new})

    @rule(pick=picks, key=keys)
    def delete(self, pick: int, key: str) -> None:
        branch = self.branch(pick)
        row = branch.overlay.peek(Book, key)
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

    @rule(pick=picks, text=texts)
    def search(self, pick: int, text: str) -> None:
        branch = self.branch(pick)
        found = branch.overlay.search(Book, text)
        words = set(words_of(text))
        wanted = [
            b for _, b in sorted(branch.model.items()) if words and words <= set(words_of(f"{b.title} {b.blurb or ''}"))
        ]
        assert found == wanted
        self.projection.sync(branch.overlay)
        assert self.projection.search(Book, text) == wanted

    @rule(pick=picks, column=st.sampled_from(sorted(values)), key=keys, other=changes)
    def find(self, pick: int, column: str, key: str, other: dict[str, Any]) -> None:
        branch = self.branch(pick)
        equal: dict[str, Any] = dict(other)
        if key in branch.model:
            equal[column] = getattr(branch.model[key], column)
        wanted = [b for _, b in sorted(branch.model.items()) if all(getattr(b, c) == v for c, v in equal.items())]
        assert branch.overlay.find(Book, **equal) == wanted
        self.projection.sync(branch.overlay)
        assert self.projection.find(Book, **equal) == wanted

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
                copy.update(change.before, **{f.name: getattr(change.after, f.name) for f in fields(Book)})
        assert copy.state_hash() == branch.overlay.state_hash()
        assert copy.journal == branch.overlay.journal

    @invariant()
    def every_branch_is_as_its_model(self) -> None:
        for branch in self.branches:
            assert {b.id: b for b in branch.overlay.find(Book)} == branch.model
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


@pytest.mark.parametrize("shard", MACHINE_SHARDS)
def test_overlay_dictionaries_and_sql_agree(shard: int) -> None:
    assert run_shard(OverlayMachine, shard, steps=MACHINE_STEPS) >= MACHINE_STEPS
