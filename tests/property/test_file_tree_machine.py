"""A tree of files beside rows, against plain dictionaries: writes, refusals, rollbacks, forks, snapshots, hashes."""

import pickle
from typing import TypeAlias

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from palaestra.envs.state import AttachedOverlay, Base, FileEntry, FileLimits, FileTree, SqlProjection, overlay_on
from palaestra.envs.state.attached import AttachedSnapshot
from palaestra.errors import RowError, ToolRefusal
from property.budget import MACHINE_STEPS
from property.machines import CountedMachine, run_shard
from worlds.archive import SCHEMA, Project

Model: TypeAlias = dict[str, str]

LIMITS = FileLimits(files=5, file_bytes=6, total_bytes=14)
FILES = {"/a/x": "one", "/a/y": "two", "/b": "é"}
PATHS = ["/a/x", "/a/y", "/a", "/b", "/b/c", "/d/e", "/d", "/f"]
PROJECT = Project(id="PRJ-1", name="bridge", status="open", frozen=False)
BASE = Base(SCHEMA, [PROJECT], states={"files": FileTree(FILES, limits=LIMITS)})

paths = st.sampled_from(PATHS)
contents = st.sampled_from(["", "one", "é", "éééé", "123456"])
picks = st.integers(0, 50)


def size(model: Model) -> int:
    return sum(len(content.encode()) for content in model.values())


def fits(model: Model, path: str, content: str) -> bool:
    """Whether a tree of `model` takes this file."""
    folder = any(other.startswith(f"{path}/") for other in model)
    below_file = any(path.startswith(f"{other}/") for other in model)
    after = {**model, path: content}
    room = (
        len(after) <= LIMITS.files and len(content.encode()) <= LIMITS.file_bytes and size(after) <= LIMITS.total_bytes
    )
    return room and (path in model or not (folder or below_file))


class Branch:
    """An overlay, and after each call the journal's length, the files and the project's name."""

    def __init__(self, overlay: AttachedOverlay, history: list[tuple[int, Model, str]]) -> None:
        self.overlay = overlay
        self.history = history

    @property
    def files(self) -> FileTree:
        files = self.overlay.states["files"]
        assert isinstance(files, FileTree)
        return files

    @property
    def model(self) -> Model:
        return self.history[-1][1]

    def called(self, model: Model, name: str | None = None) -> None:
        self.history.append((len(self.overlay.journal), model, name or self.history[-1][2]))


class FileTreeMachine(CountedMachine):
    def __init__(self) -> None:
        super().__init__()
        planted = overlay_on(BASE)
        assert isinstance(planted, AttachedOverlay)
        self.branches = [Branch(planted, [(0, FILES, "bridge")])]
        self.branches[0].files.write("/d/e", "new")
        self.beginning = {**FILES, "/d/e": "new"}
        self.branches[0].overlay = planted.settle()
        self.branches[0].history = [(0, self.beginning, "bridge")]
        self.saved: list[tuple[AttachedSnapshot, list[tuple[int, Model, str]]]] = []
        self.projection = SqlProjection(self.branches[0].overlay)
        self.hashes: dict[str, tuple[Model, str]] = {}

    def branch(self, pick: int) -> Branch:
        return self.branches[pick % len(self.branches)]

    @rule(pick=picks, path=paths, content=contents)
    def write(self, pick: int, path: str, content: str) -> None:
        branch = self.branch(pick)
        taken = fits(branch.model, path, content)
        try:
            branch.files.write(f"/.{path}/", content)
        except ToolRefusal:
            assert not taken
        else:
            assert taken
            branch.called({**branch.model, path: content})

    @rule(pick=picks, source=paths, goal=paths)
    def move(self, pick: int, source: str, goal: str) -> None:
        branch = self.branch(pick)
        rest = {path: content for path, content in branch.model.items() if path != source}
        taken = source in branch.model and goal not in branch.model and fits(rest, goal, branch.model[source])
        try:
            branch.files.move(source, goal)
        except ToolRefusal:
            assert not taken
        else:
            assert taken
            branch.called({**rest, goal: branch.model[source]})

    @rule(pick=picks, path=paths)
    def delete(self, pick: int, path: str) -> None:
        branch = self.branch(pick)
        try:
            branch.files.delete(path)
        except ToolRefusal:
            assert path not in branch.model
        else:
            branch.called({p: c for p, c in branch.model.items() if p != path})

    @rule(pick=picks, name=st.sampled_from(["bridge", "canal"]), path=paths, content=contents)
    def write_a_row_and_a_file_in_one_call(self, pick: int, name: str, path: str, content: str) -> None:
        branch = self.branch(pick)
        model = {**branch.model, path: content} if fits(branch.model, path, content) else branch.model
        if model is not branch.model:
            branch.files.write(path, content)
        branch.overlay.update(branch.overlay.get(Project, "PRJ-1"), name=name)
        branch.called(model, name)

    @rule(pick=picks, path=paths, content=contents)
    def a_refused_call_takes_back_rows_and_files(self, pick: int, path: str, content: str) -> None:
        branch = self.branch(pick)
        mark = len(branch.overlay.journal)
        if fits(branch.model, path, content):
            branch.files.write(path, content)
        branch.overlay.update(branch.overlay.get(Project, "PRJ-1"), name="half done")
        branch.overlay.rollback(mark)

    @rule(pick=picks, back=picks)
    def rollback(self, pick: int, back: int) -> None:
        branch = self.branch(pick)
        del branch.history[1 + back % len(branch.history) :]
        branch.overlay.rollback(branch.history[-1][0])

    @precondition(lambda self: len(self.branches) < 4)
    @rule(pick=picks)
    def fork(self, pick: int) -> None:
        branch = self.branch(pick)
        self.branches.append(Branch(branch.overlay.fork(), branch.history.copy()))

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

    @rule(pick=picks)
    def sql_and_the_log_know_the_same_files(self, pick: int) -> None:
        branch = self.branch(pick)
        self.projection.sync(branch.overlay)
        assert {e.id: e.content for e in self.projection.find(FileEntry)} == branch.model
        copy = branch.overlay.replica()
        copy.rollback(0)
        for change in branch.overlay.journal:
            if change.before is None:
                assert change.after is not None
                copy.insert(change.after)
            elif change.after is None:
                copy.delete(change.before)
            else:
                copy.update(
                    change.before, **{n: getattr(change.after, n) for n in copy.base.schema[change.table].columns}
                )
        assert copy.changes() == branch.overlay.changes()

    @rule(pick=picks)
    def only_the_state_writes_its_mirror(self, pick: int) -> None:
        overlay = self.branch(pick).overlay
        for entry in overlay.find(FileEntry):
            with pytest.raises(RowError, match="write the state"):
                overlay.delete(entry)

    @invariant()
    def every_branch_is_as_its_model(self) -> None:
        for branch in self.branches:
            length, model, name = branch.history[-1]
            assert {path: branch.files.read(path) for path in branch.files.paths()} == model
            assert {e.id: e.content for e in branch.overlay.find(FileEntry)} == model
            assert branch.overlay.get(Project, "PRJ-1").name == name
            assert len(branch.overlay.journal) == length
            changed = {c.key for c in branch.overlay.changes() if c.table == "files"}
            assert changed == {p for p in PATHS if self.beginning.get(p) != model.get(p)}

    @invariant()
    def equal_hashes_are_equal_states(self) -> None:
        for branch in self.branches:
            here = branch.model, branch.history[-1][2]
            assert self.hashes.setdefault(branch.overlay.state_hash(), here) == here
        states = {repr((sorted(model.items()), name)) for model, name in self.hashes.values()}
        assert len(states) == len(self.hashes)


def test_a_tree_of_files_agrees_with_dictionaries() -> None:
    steps = MACHINE_STEPS // 2
    assert run_shard(FileTreeMachine, 0, steps=steps) >= steps
