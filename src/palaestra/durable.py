"""Saves that survive a kill, a power cut and a full disk.

A save is a directory. It is written under a temporary name with a manifest of hashes; each file and directory is
fsynced, then the directory is renamed into place. The save that was there before is kept as `NAME.previous` until the
next save. The reader verifies the manifest and falls back to the previous save.

A save is acknowledged when `saving` or `write_file` returns. After that, no crash of the process or the machine loses
it, provided that the disk keeps what it has fsynced. If the caller made folders above the one that holds saves, the
caller must make those durable.
"""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import cast

import orjson

from palaestra.errors import RecordError, StorageError

MANIFEST = "MANIFEST.json"


def write_file(path: Path, data: bytes, *, private: bool = False) -> None:
    """Write a file completely or not at all; raises as `saving` does.

    Args:
        path: The file.
        data: Its content.
        private: Whether only its owner may read it; otherwise the process's umask decides.
    """
    path = path.resolve()
    with explain_disk_errors(path):
        make_folder(path.parent)
        temporary = path.parent / f".{path.name}.{token_hex(4)}.tmp"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            sync(temporary)
            temporary.replace(path)
            sync(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a directory and any missing ones above it, so that they survive a power cut."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
    with suppress(PermissionError):  # of those above one that was given
        sync(folder.parent)  # a killed process may have made it a moment ago


def sync(path: Path) -> None:
    """Return once a file's bytes, or a directory's names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def file_state(path: Path | None) -> tuple[int, int, int] | None:
    """Values that change when a file is replaced; `None` if there is no file."""
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


@contextmanager
def explain_disk_errors(target: Path) -> Generator[None]:
    """Turn a file system error about `target` into one that says what to do.

    Raises:
        StorageError: the block raised an `OSError`, unless that names a file elsewhere.
    """
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        name = str(error.filename)
        beside = error.filename is None or name.startswith(str(target.parent)) or target.is_relative_to(name)
        if not beside:
            raise  # some other file of the caller's
        reason = os.strerror(error.errno) if error.errno else str(error)
        room = "free some space and run it again" if error.errno in _FULL else "check the path and its rights"
        raise StorageError(
            error.errno, f"could not save {target}: {reason}; what stood there is untouched; {room}"
        ) from error


@contextmanager
def saving(target: Path) -> Generator[Path]:
    """A temporary directory that becomes `target` when the block ends without an error.

    Yields:
        The directory to write into.

    Raises:
        StorageError: the disk is full or refuses, or `target` is a directory that no save made; it is left unchanged.
    """
    target = target.resolve()
    for taken in (target, _previous(target)):
        _check_ours(taken)
    with explain_disk_errors(target):
        make_folder(target.parent)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
        try:
            temporary.chmod(0o755)  # a private directory until now; a save is as readable as its neighbours
            yield temporary
            _seal(temporary)
            _install(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _check_ours(directory: Path) -> None:
    """Refuse to replace a directory that no save made, or the current directory."""
    foreign = (
        directory.exists()
        and not (directory / MANIFEST).exists()
        and (not directory.is_dir() or any(directory.iterdir()))
    )
    if foreign or Path.cwd().is_relative_to(directory):
        raise StorageError(
            errno.EEXIST, f"{directory} holds something else and is not replaced; choose a new directory for the save"
        )


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def find_whole_save(target: Path) -> Path:
    """The newest complete save at `target`: the last one, or the one before it.

    Raises:
        RecordError: neither is complete; the message says what is wrong with each.
    """
    faults: list[str] = []
    for candidate in (target, _previous(target)):
        fault = _fault(candidate)
        if fault is None:
            return candidate
        faults.append(f"{candidate}: {fault}")
    raise RecordError("no whole save: " + "; ".join(faults) + "; run the command that writes it again")


def sweep(target: Path) -> None:
    """Remove the remains of killed saves beside `target`; nobody else may be saving there.

    No power cut loses the save that `find_whole_save` finds afterwards: a save that was killed after it was renamed
    into place, but before it was acknowledged, counts as acknowledged from here on.

    Raises:
        StorageError: writing to disk fails.
    """
    target = target.resolve()
    ours = re.compile(rf"\.{re.escape(target.name)}(\.previous)?\.\w{{8}}\.tmp")  # not those of a longer name
    with explain_disk_errors(target):
        for left in target.parent.glob(".*.tmp"):
            if ours.fullmatch(left.name):
                if left.is_dir():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink(missing_ok=True)
        if target.parent.is_dir():
            sync(target.parent)


def _previous(target: Path) -> Path:
    return target.with_name(target.name + ".previous")


def _files(directory: Path) -> list[Path]:
    return sorted(p for p in directory.rglob("*") if p.is_file() and p.name != MANIFEST)


def _hash(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _seal(directory: Path) -> None:
    files = _files(directory)
    manifest = {str(p.relative_to(directory)): _hash(p) for p in files}
    (directory / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    for path in [*files, directory / MANIFEST]:
        path.chmod(0o644)  # some libraries write private files
        sync(path)
    for folder in [*(p for p in directory.rglob("*") if p.is_dir()), directory]:
        sync(folder)


def _install(temporary: Path, target: Path) -> None:
    previous = _previous(target)
    graves: list[Path] = []
    if target.exists() and _fault(target) is not None:
        graves.append(_set_aside(target))  # a broken save must not replace the last complete one
    if target.exists():
        if previous.exists():
            graves.append(_set_aside(previous))
        target.rename(previous)
    temporary.rename(target)
    sync(target.parent)
    for grave in graves:  # not before: a power cut might restore the name without the files
        shutil.rmtree(grave, ignore_errors=True)


def _set_aside(directory: Path) -> Path:
    """Rename a save, in one step, to a name that only `sweep` knows."""
    grave = tempfile.mkdtemp(prefix=f".{directory.name}.", suffix=".tmp", dir=directory.parent)
    return directory.rename(grave)  # an empty directory may be renamed over


def _fault(directory: Path) -> str | None:
    if not directory.is_dir():
        return "not there"
    try:
        read = orjson.loads((directory / MANIFEST).read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        return f"no readable {MANIFEST} ({error})"
    if not isinstance(read, dict):
        return f"{MANIFEST} is no table of files"
    for name, expected in cast("dict[str, object]", read).items():
        path = directory / name
        if not path.is_file():
            return f"{name} is missing"
        if _hash(path) != expected:
            return f"{name} is not what was saved"
    return None
