"""Every state that a crash can leave a disk in: a record of what a program did to a folder, and a model of the disk.

`Disk.recorded` lets a block write to a real folder and looks at that folder before each operation that changes it, so
it sees what any library does there. What changed from one look to the next is an effect: bytes of a file, or names of
a directory. `fsync` makes the effects of one file or directory so far durable, and nothing else.

The model, weaker than any file system in use:

- *The process dies* (`killed`): the kernel lives, so every effect up to some moment is there; the last write may have
  come half way.
- *The power goes* (`cut`), at any such moment: of the effects that no `fsync` has made durable, any combination is
  there. Bytes come in halves: none, the first, the second behind zeros or over what stood there, or both; names are
  those of any subset of the directory's operations. Names and bytes know nothing of each other, nor do two directories:
  a name may be there without its bytes, and a move between directories may leave either name, both or none.

A move within one directory is one effect: it has happened or it has not. Access rights and times are left out.
"""

import os
import shutil
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import TypeAlias
from unittest.mock import patch

from crash.killer import Killed, watched

Names: TypeAlias = dict[str, int]
"""A directory: what it calls each of its nodes."""
Node: TypeAlias = bytes | Names
Tree: TypeAlias = bytes | tuple[tuple[str, "Tree"], ...]
"""A file's bytes, or a directory's names in order, each with what is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A file's bytes became others."""

    before: bytes
    after: bytes

    def outcomes(self) -> set[bytes]:
        """What a power cut can make of it."""
        same = _shared(self.before, self.after)
        kept, new, old = self.after[:same], self.after[same:], self.before[same:]
        half = len(new) // 2
        first = kept + new[:half]
        second = kept + old[:half].ljust(half, b"\0") + new[half:]
        return {self.before, kept, first, first + old[half:], second, self.after}


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """A directory's names changed: what each of these is now, `None` where it is gone."""

    changes: dict[str, int | None]

    def on(self, names: Names) -> Names:
        """The names afterwards."""
        return {name: node for name, node in {**names, **self.changes}.items() if node is not None}


@dataclass(slots=True)
class Medium:
    """What the disk itself holds, and what is on the way to it."""

    held: dict[int, Node] = field(default_factory=dict[int, Node])
    pending: dict[int, list[Written | Renamed]] = field(default_factory=dict[int, list[Written | Renamed]])

    def settle(self, node: int, now: Node) -> None:
        """All that happened to the node is durable."""
        self.held[node] = now
        self.pending.pop(node, None)

    def outcomes(self, node: int) -> set[bytes] | list[Names]:
        """What may be left of a node."""
        pending = self.pending.get(node, [])
        held = self.held[node]
        if isinstance(held, bytes):
            return {held}.union(*(effect.outcomes() for effect in pending if isinstance(effect, Written)))
        moves = [effect for effect in pending if isinstance(effect, Renamed)]
        found = [_after(held, some) for count in range(len(moves) + 1) for some in combinations(moves, count)]
        return list({frozenset(names.items()): names for names in found}.values())

    def trees(self, node: int) -> set[Tree]:
        """What may be found under a node, all the way down."""
        found: set[Tree] = set()
        for outcome in self.outcomes(node):
            if isinstance(outcome, bytes):
                found.add(outcome)
            else:
                below = [[(name, tree) for tree in self.trees(child)] for name, child in sorted(outcome.items())]
                found.update(product(*below))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Somewhere between two effects."""

    marks: tuple[str, ...]
    """What the program had said by then."""
    killed: frozenset[Tree]
    """What there can be when the process dies here."""
    cut: frozenset[Tree]
    """What there can be when the power goes here."""


class Disk:
    """A folder whose every change is recorded; all that was there before is durable."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ids: dict[int, int] = {}
        self._next = 0
        self._now: dict[int, Node] = {}
        self._medium = Medium()
        self._marks: tuple[str, ...] = ()
        self._now = self._look()
        for node, what in self._now.items():
            self._medium.settle(node, what)
        self.moments: list[Moment] = []
        self.synced = 0
        """How many times the block called `fsync`."""
        self._keep()

    @contextmanager
    def recorded(self, *, dies_after: int | None = None, forgets: int | None = None) -> Generator[None]:
        """Record what the block does; `fsync` costs nothing in it.

        Args:
            dies_after: Operations, fsyncs among them, until the process is killed with `Killed`.
            forgets: The number of the fsync, from 0, that is left out.
        """
        operations = 0
        self.synced = 0

        def before() -> None:
            nonlocal operations
            self._observe()
            if dies_after is not None and operations >= dies_after:
                raise Killed
            operations += 1

        def fsync(descriptor: int) -> None:
            before()
            node = self._ids.get(os.fstat(descriptor).st_ino)
            if node is None:
                return  # above the root
            if self.synced != forgets:
                self._medium.settle(node, self._now[node])
                self._keep()
            self.synced += 1

        with patch.object(os, "fsync", fsync), watched(before):
            yield
        self._observe()

    def mark(self, what: str) -> None:
        """The program says something here, such as that a save is done."""
        self._observe()
        self._marks = (*self._marks, what)
        self._keep()

    def settle(self) -> None:
        """The system writes back all that it still holds."""
        self._observe()
        for node, what in self._now.items():
            self._medium.settle(node, what)

    def _observe(self) -> None:
        """What has changed since the last look goes to the medium, name by name and file by file."""
        before, self._now = self._now, self._look()
        for node, now in self._now.items():
            was = before.get(node, b"" if isinstance(now, bytes) else {})
            self._medium.held.setdefault(node, b"" if isinstance(now, bytes) else {})
            if was == now:
                continue
            if isinstance(now, bytes) and isinstance(was, bytes):
                self._pend(node, Written(before=was, after=now))
            elif isinstance(now, dict) and isinstance(was, dict):
                gone = dict.fromkeys(was.keys() - now.keys())
                self._pend(node, Renamed(changes={**gone, **dict(now.items() - was.items())}))
        if before != self._now:
            self._keep(before)

    def _pend(self, node: int, effect: Written | Renamed) -> None:
        self._medium.pending.setdefault(node, []).append(effect)

    def _keep(self, before: dict[int, Node] | None = None) -> None:
        root = self._ids[self._root.stat().st_ino]
        whole = _tree(self._now, root)
        halves = {_tree({**self._now, node: half}, root) for node, half in _halves(before or self._now, self._now)}
        cut = frozenset(self._medium.trees(root))
        self.moments.append(Moment(marks=self._marks, killed=frozenset({whole, *halves}), cut=cut))

    def _look(self) -> dict[int, Node]:
        """Every node below the root, and the root; an inode that was gone for a moment is another node."""
        found = dict(_walk(self._root))
        self._ids = {inode: node for inode, node in self._ids.items() if inode in found}
        for inode in found:
            if inode not in self._ids:
                self._ids[inode] = self._next
                self._next += 1
        return {
            self._ids[inode]: what
            if isinstance(what, bytes)
            else {name: self._ids[child] for name, child in what.items()}
            for inode, what in found.items()
        }


def become(at: Path, tree: Tree, was: Tree | None = None) -> None:
    """Make what is at a path, `was` or nothing, what a crash left."""
    if tree == was:
        return
    if was is not None and (isinstance(was, bytes) or isinstance(tree, bytes)):
        _remove(at)
        was = None
    if isinstance(tree, bytes):
        at.write_bytes(tree)
        return
    if was is None:
        at.mkdir()
    had = {} if was is None or isinstance(was, bytes) else dict(was)
    for name in had.keys() - dict(tree).keys():
        _remove(at / name)
    for name, below in tree:
        become(at / name, below, had.get(name))


def _remove(at: Path) -> None:
    if at.is_dir():
        shutil.rmtree(at)
    else:
        at.unlink()


def _after(names: Names, moves: Iterable[Renamed]) -> Names:
    for move in moves:
        names = move.on(names)
    return names


def _tree(nodes: dict[int, Node], node: int) -> Tree:
    what = nodes[node]
    if isinstance(what, bytes):
        return what
    return tuple((name, _tree(nodes, child)) for name, child in sorted(what.items()))


def _halves(before: dict[int, Node], now: dict[int, Node]) -> Iterator[tuple[int, bytes]]:
    """Files that were written since, half way."""
    for node, what in now.items():
        was = before.get(node, b"")
        if isinstance(what, bytes) and isinstance(was, bytes) and what != was:
            same = _shared(was, what)
            yield node, what[:same]
            yield node, what[: same + (len(what) - same) // 2]


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _walk(directory: Path) -> Iterator[tuple[int, Node]]:
    names: Names = {}
    for entry in os.scandir(directory):
        names[entry.name] = entry.inode()
        if entry.is_dir():
            yield from _walk(Path(entry.path))
        else:
            yield entry.inode(), Path(entry.path).read_bytes()
    yield directory.stat().st_ino, names
