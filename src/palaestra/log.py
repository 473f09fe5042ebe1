"""A log that survives a kill, a power cut and a full disk: one JSON value a line, appended and never changed.

Once `append` returns, the operating system has the record, so a killed process loses none. After `sync`, no power cut
loses a record either: all of them are acknowledged. A torn record and those after it are never read; none of them had
been acknowledged. Only one process writes a log at a time.
"""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from itertools import accumulate, takewhile
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from palaestra.durable import explain_disk_errors, make_folder, sync
from palaestra.errors import RecordError, StorageError


class Log:
    """A log to append to.

    Opening it drops torn records and acknowledges the rest.

    Args:
        path: The file; it and the folders above it are made if they are missing.
        count: Go back to the first `count` records, such as those that a checkpoint knows of; `None` keeps all.

    Raises:
        RecordError: the log holds fewer than `count` records; it is left unchanged.
        StorageError: writing to disk fails.
    """

    def __init__(self, path: Path, *, count: int | None = None) -> None:
        self._path = path.resolve()
        with explain_disk_errors(self._path):
            data = self._path.read_bytes() if self._path.exists() else b""
            self._ends = list(accumulate((len(line) + 1 for line in _whole(data)), initial=0))
            kept = len(self) if count is None else self._check_count(count)
            make_folder(self._path.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._file: int | None = os.open(self._path, flags, 0o644)
        self.truncate(kept)
        with explain_disk_errors(self._path):
            sync(self._path.parent)

    def __len__(self) -> int:
        """The number of records."""
        return len(self._ends) - 1

    @property
    def closed(self) -> bool:
        """Whether appending is no longer possible, after `close` or a fault."""
        return self._file is None

    def append(self, record: bytes) -> None:
        """Append one record.

        Args:
            record: A JSON value on one line, without the newline.

        Raises:
            ValueError: `record` is not that.
            StorageError: writing to disk fails; see `sync`.
        """
        if b"\n" in record or not _is_json(record):
            raise ValueError(f"{record[:80]!r} is not one line of JSON; a log holds nothing else")
        left = memoryview(record + b"\n")
        with self._writing() as file:
            while left:
                left = left[os.write(file, left) :]
        self._ends.append(self._ends[-1] + len(record) + 1)

    def sync(self) -> None:
        """Acknowledge every record so far.

        Raises:
            StorageError: writing to disk fails. It is then unknown which records since the last `sync` were written, so
                the log is closed; open it again with the `count` that was acknowledged.
        """
        with self._writing() as file:
            os.fsync(file)

    def truncate(self, count: int) -> None:
        """Keep the first `count` records and acknowledge that.

        Raises:
            RecordError: the log holds fewer records.
            StorageError: writing to disk fails; see `sync`.
        """
        end = self._ends[self._check_count(count)]
        with self._writing() as file:
            os.ftruncate(file, end)
            os.fsync(file)  # before anything is appended; otherwise half of a new record might join half of an old one
        del self._ends[count + 1 :]

    def close(self) -> None:
        """Close the file. The operating system keeps records that no `sync` acknowledged. Closing twice is allowed."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _writing(self) -> Generator[int]:
        """Give the file to a block that changes it. After a fault its content is unknown, so it is closed."""
        if self._file is None:
            raise StorageError(errno.EBADF, f"{self._path} was closed, by `close` or by a fault; open it again")
        try:
            with explain_disk_errors(self._path):
                yield self._file
        except StorageError:
            self.close()
            raise

    def _check_count(self, count: int) -> int:
        if not 0 <= count <= len(self):
            raise RecordError(
                f"{self._path} holds {len(self)} whole records, not the {count} asked for; "
                "go on from an older checkpoint, or begin anew"
            )
        return count


def read_log(path: Path) -> list[bytes]:
    """The complete records of a log, without newlines.

    Raises:
        RecordError: the file cannot be read.
    """
    try:
        return _whole(path.read_bytes())
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror}); give the file of a log") from error


def _whole(data: bytes) -> list[bytes]:
    """The lines before the first torn one; what follows the last newline is empty or torn."""
    return list(takewhile(_is_json, data.split(b"\n")[:-1]))


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True
