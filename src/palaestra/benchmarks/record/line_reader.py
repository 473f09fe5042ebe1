"""Reads a file in pieces of whole lines, so that reading a growing file can continue where it stopped."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from palaestra.errors import RecordError
from palaestra.record import record

if TYPE_CHECKING:
    from hashlib import _Hash

PIECE = 4 * 2**20
"""Number of bytes after which a piece ends, at the end of the current line."""
MOST_LINE = 500 * 2**20
"""Maximum bytes of a line: databases hold values of up to 1 GB."""


@record
class FileLine:
    """A line, or a whole document."""

    content: bytes
    """The bytes of the line without its line end."""
    is_ended: bool
    """Whether the line has its line end."""

    @property
    def size(self) -> int:
        """Number of bytes in the file."""
        return len(self.content) + self.is_ended

    @property
    def data(self) -> bytes:
        """The bytes in the file."""
        return self.content + b"\n" if self.is_ended else self.content


def read_piece(file: BinaryIO, path: Path) -> list[FileLine]:
    """Read the next lines, up to the end of the line that exceeds `PIECE` bytes; none at the end of the file.

    Raises:
        RecordError: a line is too long for a database.
    """
    lines: list[FileLine] = []
    size = 0
    while size < PIECE:
        line = file.readline(MOST_LINE + 1)
        if not line:
            break
        if len(line) > MOST_LINE:
            raise RecordError(f"{path}: a line has more than {MOST_LINE} bytes, which no database holds; split it")
        is_ended = line.endswith(b"\n")
        lines.append(FileLine(content=line[:-1] if is_ended else line, is_ended=is_ended))
        size += len(line)
    return lines


def hash_prefix(file: BinaryIO, size: int) -> "_Hash | None":
    """Hash the first `size` bytes of a file and leave the position behind them; `None` where the file is shorter."""
    digest = sha256()
    left = size
    while left:
        part = file.read(min(left, 2**20))
        if not part:
            return None
        digest.update(part)
        left -= len(part)
    return digest


def count_equal(file: BinaryIO, lines: Iterator[FileLine]) -> tuple[int, int]:
    """Count how many of these lines a file begins with, and their bytes."""
    file.seek(0)
    count = size = 0
    for line in lines:
        if file.read(line.size) != line.data:
            break
        count, size = count + 1, size + line.size
    return count, size
