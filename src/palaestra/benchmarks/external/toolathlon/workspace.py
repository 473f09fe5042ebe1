"""The folder that an agent works in: files of text, and no way out of it."""

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from palaestra.benchmarks.external.protocol import WireResult, answer_result, refusal_result, tool

_PATH = {"type": "string", "description": "Relative to the workspace."}
_TEXT = {"type": "string"}
TOOLS = [
    tool("list_files", "List the files below a folder of the workspace.", {"path": _PATH}),
    tool("read_file", "Read a file of text.", {"path": _PATH}),
    tool("write_file", "Write a file of text; folders that it needs are made.", {"path": _PATH, "content": _TEXT}),
    tool("move", "Move or rename a file or folder.", {"path": _PATH, "target": _PATH}),
    tool("delete", "Delete a file, or a folder with all that is in it.", {"path": _PATH}),
]
_MOST = 100_000
"""Characters of a file that are shown."""


class Workspace:
    """A folder, and what tools do in it. What an agent gets wrong is answered.

    Args:
        root: The folder; it is this one's own.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._tools: Mapping[str, tuple[Callable[..., WireResult], tuple[str, ...]]] = {
            "list_files": (self._list, ("path",)),
            "read_file": (self._read, ("path",)),
            "write_file": (self._write, ("path", "content")),
            "move": (self._move, ("path", "target")),
            "delete": (self._delete, ("path",)),
        }

    def call(self, name: str, arguments: Mapping[str, Any]) -> WireResult:
        """Do what a call asks for. Any: JSON."""
        if name not in self._tools:
            return refusal_result(f"there is no tool {name[:60]!r}; there are {', '.join(self._tools)}", "unknown_tool")
        act, wanted = self._tools[name]
        if set(arguments) != set(wanted) or not all(isinstance(value, str) for value in arguments.values()):
            return refusal_result(f"{name} takes {' and '.join(wanted)}, as text", "invalid_arguments")
        try:
            return act(**arguments)
        except (OSError, ValueError) as error:  # a name that no file can have, among others
            said = error.strerror if isinstance(error, OSError) and error.strerror else "that is no path of a file"
            return refusal_result(f"{name}: {said}", "failed")

    def files(self) -> list[Path]:
        """Every file, in order; links that lead out are none."""
        return sorted(path for path in self.root.rglob("*") if path.is_file() and self._inside(path))

    def state(self) -> str:
        """A hash of all files."""
        summed = hashlib.blake2b(digest_size=16)
        for path in self.files():
            summed.update(str(path.relative_to(self.root)).encode("utf-8", "replace") + b"\0")
            summed.update(hashlib.blake2b(path.read_bytes(), digest_size=16).digest())
        return summed.hexdigest()

    def _inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root)

    def _at(self, path: str) -> Path:
        """Where a path leads, links followed.

        Raises:
            PermissionError: out of the workspace.
        """
        found = (self.root / path).resolve()
        if not found.is_relative_to(self.root):
            raise PermissionError(1, f"{path[:60]!r} is outside of the workspace")
        return found

    def _list(self, path: str) -> WireResult:
        folder = self._at(path)
        if not folder.is_dir():
            return refusal_result(f"there is no folder {path[:60]!r}", "not_found")
        below = [str(file.relative_to(self.root)) for file in self.files() if file.is_relative_to(folder)]
        return answer_result("\n".join(below) or "no files")

    def _read(self, path: str) -> WireResult:
        file = self._at(path)
        if not file.is_file():
            return refusal_result(f"there is no file {path[:60]!r}", "not_found")
        try:
            text = file.read_bytes().decode()
        except UnicodeDecodeError:
            return refusal_result(f"{path[:60]!r} holds no text", "not_text")
        return answer_result(
            text if len(text) <= _MOST else f"{text[:_MOST]}\n... ({len(text) - _MOST} characters more)"
        )

    def _write(self, path: str, content: str) -> WireResult:
        file = self._at(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode("utf-8", "replace"))
        return answer_result(f"{len(content)} characters written")

    def _move(self, path: str, target: str) -> WireResult:
        source, to = self._at(path), self._at(target)
        if not source.exists() or source == self.root:
            return refusal_result(f"there is nothing at {path[:60]!r} to move", "not_found")
        if to.exists() or to.is_relative_to(source):
            return refusal_result(f"{target[:60]!r} is taken", "taken")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(source, to)
        return answer_result("moved")

    def _delete(self, path: str) -> WireResult:
        found = self._at(path)
        if not found.exists() or found == self.root:
            return refusal_result(f"there is nothing at {path[:60]!r} to delete", "not_found")
        if found.is_dir():
            shutil.rmtree(found)
        else:
            found.unlink()
        return answer_result("deleted")
