"""A virtual tree of text files beside a world's rows: an immutable base, and what was written over it.

Paths are absolute, with "/" between names and in one form: "notes//./a.txt" is "/notes/a.txt". Folders are there where
files are below them. Nothing touches the machine's own files.
"""

import posixpath
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, ClassVar

from palaestra.errors import ToolRefusal
from palaestra.records import Row, RowChange, Searchable

_BITS = (1 << 128) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry(Row):
    """A file, as the row that mirrors it; its id is its path. A subclass with another `table` is for a second tree."""

    table: ClassVar[str] = "files"
    prefix: ClassVar[str] = ""
    content: Annotated[str, Searchable()]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """How much a tree holds at most."""

    files: int = 1_000
    file_bytes: int = 65_536
    """Of one file, in UTF-8."""
    total_bytes: int = 4_194_304
    path_length: int = 255
    """Characters of a whole path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSnapshot:
    """Where a tree stands: what differs from its base, and how much there is."""

    changed: Mapping[str, str | None]
    """By path: the content, or `None` where the base has a file and the tree has none. Never written."""
    files: int
    size: int


class FileTree:
    """Text files by path; a `palaestra.protocols.ForkableState`.

    Every method that takes a path raises `ToolRefusal` with the code "bad_path" where it is none.

    Args:
        files: The base: contents by path. It is copied.
        kind: The class of the rows that mirror the files.
        limits: How much may be written.

    Raises:
        ToolRefusal: the base itself breaks a limit, or two of its paths cannot stand together.
    """

    __slots__ = ("_base", "_base_hash", "_hash", "_kind", "_limits", "_now")

    def __init__(
        self, files: Mapping[str, str], *, kind: type[FileEntry] = FileEntry, limits: FileLimits | None = None
    ) -> None:
        self._kind = kind
        self._limits = limits or FileLimits()
        self._base: dict[str, str] = {}
        self._base_hash = 0
        self._now = FileSnapshot(changed={}, files=0, size=0)
        self._hash: tuple[FileSnapshot, int] | None = None
        for path, content in files.items():
            self.write(path, content)
        self._base = {path: content for path, content in sorted(self._now.changed.items()) if content is not None}
        self._base_hash = sum(_file_hash(path, content) for path, content in self._base.items()) & _BITS
        self._now = FileSnapshot(changed={}, files=self._now.files, size=self._now.size)

    # Reading

    def paths(self, under: str = "/") -> tuple[str, ...]:
        """The paths of all files in a folder and the folders below it, in order."""
        folder = self._normal(under).rstrip("/") + "/"
        changed = self._now.changed
        standing = [path for path in self._base if path not in changed]
        standing += [path for path, content in changed.items() if content is not None]
        return tuple(sorted(path for path in standing if path.startswith(folder)))

    def exists(self, path: str) -> bool:
        """Whether there is a file of that path."""
        return self._content(self._normal(path)) is not None

    def read(self, path: str) -> str:
        """The content of a file.

        Raises:
            ToolRefusal: "not_found".
        """
        path = self._normal(path)
        content = self._content(path)
        if content is None:
            folder = " (it is a folder)" if self._is_folder(path) else ""
            raise ToolRefusal("not_found", f"there is no file {path}{folder}")
        return content

    # Writing

    def write(self, path: str, content: str) -> str:
        """Make a file, or replace its content; return its path in its one form.

        Raises:
            ToolRefusal: "is_folder" where a folder has that path, or a file stands where a folder would have to be;
                "too_large" where a limit is broken.
        """
        path = self._normal(path)
        before = self._content(path)
        if before is None:
            self._check_place(path)
        size = _size(content)
        if size > self._limits.file_bytes:
            raise ToolRefusal(
                "too_large", f"{path} would have {size} bytes; a file has at most {self._limits.file_bytes}"
            )
        self._put(path, before, content, size)
        return path

    def move(self, source: str, target: str) -> str:
        """Give a file another path, where no file stands; return it in its one form.

        Raises:
            ToolRefusal: "not_found", "exists", or as for `write`.
        """
        content = self.read(source)
        target = self._normal(target)
        if self.exists(target):
            raise ToolRefusal("exists", f"there is a file {target} already; delete it, or choose another path")
        start = self._now
        self.delete(source)
        try:
            return self.write(target, content)
        except ToolRefusal:
            self._now = start
            raise

    def delete(self, path: str) -> None:
        """Remove a file.

        Raises:
            ToolRefusal: "not_found".
        """
        content = self.read(path)
        self._put(self._normal(path), content, None, 0)

    # ForkableState

    def snapshot(self) -> FileSnapshot:
        """Where the tree stands; it costs nothing, since a write makes a new one."""
        return self._now

    def restore(self, snapshot: FileSnapshot) -> None:
        """Stand where `snapshot` was taken, of this tree or of one with the same base."""
        self._now = snapshot

    def fork(self) -> "FileTree":
        """An independent copy that stands at the same place."""
        copy = FileTree.__new__(FileTree)
        for name in FileTree.__slots__:
            setattr(copy, name, getattr(self, name))
        return copy

    def state_hash(self) -> str:
        """A hash of paths and contents; it costs what was written."""
        if self._hash is None or self._hash[0] is not self._now:
            total = self._base_hash
            for path, content in self._now.changed.items():
                total -= _file_hash(path, self._base[path]) if path in self._base else 0
                total += 0 if content is None else _file_hash(path, content)
            self._hash = self._now, total & _BITS
        return f"{self._hash[1]:032x}"

    def diff(self, since: FileSnapshot | None) -> tuple[RowChange, ...]:
        """The files that came, changed or went since a snapshot, by path; all files, where that is `None`."""
        if since is self._now:
            return ()
        past: Mapping[str, str | None] = dict.fromkeys(self._base) if since is None else since.changed
        found: list[RowChange] = []
        for path in sorted(past.keys() | self._now.changed.keys()):
            before = past[path] if path in past else self._base.get(path)
            after = self._content(path)
            if before != after:
                change = RowChange(
                    table=self._kind.table, key=path, before=self._entry(path, before), after=self._entry(path, after)
                )
                found.append(change)
        return tuple(found)

    def _entry(self, path: str, content: str | None) -> FileEntry | None:
        return None if content is None else self._kind(id=path, content=content)

    def _content(self, path: str) -> str | None:
        changed = self._now.changed
        return changed[path] if path in changed else self._base.get(path)

    def _put(self, path: str, before: str | None, after: str | None, size: int) -> None:
        files = self._now.files + (after is not None) - (before is not None)
        total = self._now.size + size - (0 if before is None else _size(before))
        if files > self._limits.files and after is not None:
            raise ToolRefusal("too_large", f"there are {self._limits.files} files, and no room for another")
        if total > self._limits.total_bytes and after is not None:
            raise ToolRefusal("too_large", f"all files together have at most {self._limits.total_bytes} bytes")
        changed = {**self._now.changed, path: after}
        if after == self._base.get(path):
            del changed[path]
        self._now = FileSnapshot(changed=changed, files=files, size=total)

    def _is_folder(self, path: str) -> bool:
        changed, below = self._now.changed, path.rstrip("/") + "/"
        return path == "/" or (
            any(p.startswith(below) and content is not None for p, content in changed.items())
            or any(p.startswith(below) and p not in changed for p in self._base)
        )

    def _check_place(self, path: str) -> None:
        """Raise `ToolRefusal` where `path` is a folder, or a file stands where one of its folders would."""
        if self._is_folder(path):
            raise ToolRefusal("is_folder", f"{path} is a folder; give the path of a file")
        folder = posixpath.dirname(path)
        while folder != "/":
            if self._content(folder) is not None:
                raise ToolRefusal("is_folder", f"{folder} is a file, so nothing can be below it")
            folder = posixpath.dirname(folder)

    def _normal(self, path: str) -> str:
        """A path in its one form."""
        text = unicodedata.normalize("NFC", path)
        if len(text) > self._limits.path_length:
            raise ToolRefusal("bad_path", f"a path has at most {self._limits.path_length} characters, not {len(text)}")
        if not text or any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
            raise ToolRefusal("bad_path", f"{path!r:.60} is no path; write one such as /notes/a.txt")
        names: list[str] = []
        for name in text.split("/"):
            if name == ".." and not names:
                raise ToolRefusal("bad_path", f"{path!r:.60} leads out of the tree; paths begin at /")
            if name == "..":
                names.pop()
            elif name not in ("", "."):
                names.append(name)
        return "/" + "/".join(names)


def _size(content: str) -> int:
    try:
        return len(content.encode())
    except UnicodeEncodeError:
        raise ToolRefusal("bad_content", "the content holds half of a character (a lone surrogate)") from None


def _file_hash(path: str, content: str) -> int:
    data = b"%d\0%b%b" % (len(path.encode()), path.encode(), content.encode())
    return int.from_bytes(blake2b(data, digest_size=16).digest(), "big")
