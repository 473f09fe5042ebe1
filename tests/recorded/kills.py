"""Imports into a record in processes that are killed, and looks at what each left; a program of its own.

It is run as `python -m recorded.kills PLACE WORK RUN...` and prints one JSON object. Where `kill_at_write.c` is loaded,
each child dies at a later call that changes a file of the record, until one lives through all of them; without runs it
makes the tables, and dies at every fifth call. Without the library each child dies at a later moment of the import:
within a transaction, or behind its commit.
"""

import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
from sqlalchemy import select

from palaestra.benchmarks.record import RecordDatabase, export_run, find_sources, import_run, line_reader, prepare
from palaestra.benchmarks.record.exporting import file_bytes
from palaestra.benchmarks.record.models import FileRow, RunRow

SMALL = 1_500
"""Bytes of a piece, so that a small file is many transactions."""


def main(place: str, work: Path, runs: list[Path]) -> None:
    """Kill one child after the other; print what was found."""
    line_reader.PIECE = SMALL
    shim = ctypes.CDLL(os.environ["KILL_SHIM"]) if "KILL_SHIM" in os.environ else None
    if runs:
        _import(place, [], lambda: None, lambda _: None)  # kills while tables are made are a case of their own
    deaths = kept = moment = 0
    while True:
        fresh = place if shim is None else f"{place}-{moment}"
        if shim is not None and runs:
            shutil.copy(place, fresh)
        told, status = _child(fresh, runs, moment, shim)
        if status == 0:
            break
        assert status == signal.SIGKILL, status
        deaths += 1
        kept += _check(fresh, runs, told)
        if shim is not None:
            _finish(fresh, runs, work / f"out{moment}")
        moment += 1 if runs else 5
    _finish(fresh, runs, work / "out")
    sys.stdout.buffer.write(orjson.dumps({"deaths": deaths, "kept": kept}))


def _child(place: str, runs: list[Path], moment: int, shim: ctypes.CDLL | None) -> tuple[dict[str, int], int]:
    """Import in a child; what it acknowledged, and the signal that ended it or 0."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _import(place, runs, _at_moment(moment, shim, place), lambda line: os.write(writer, line))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        lines = told.read().splitlines()
    _, status = os.waitpid(child, 0)
    acknowledged: dict[str, int] = {}
    for line in lines:
        name, _, size = line.decode().rpartition(" ")
        acknowledged[name] = int(size)
    return acknowledged, os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _at_moment(moment: int, shim: ctypes.CDLL | None, place: str) -> Callable[[], None]:
    """What the child calls at each moment of its own; it dies at one of them, or at a write."""
    left = moment

    def live() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    if shim is None:
        return live
    shim.arm(ctypes.c_long(moment), str(Path(place).resolve()).encode())
    return lambda: None


def _import(place: str, runs: list[Path], live: Callable[[], None], say: Callable[[bytes], object]) -> None:
    database = RecordDatabase(place)
    prepare(database)

    def clock() -> float:
        live()
        return 1.0

    for run in runs:
        (source,) = find_sources(run, name=run.name)

        def acknowledge(name: str, size: int, run: str = run.name) -> None:
            say(f"{run}/{name} {size}\n".encode())
            live()

        import_run(database, source, clock=clock, acknowledge=acknowledge)
    database.close()


def _check(place: str, runs: list[Path], acknowledged: dict[str, int]) -> int:
    """Every acknowledged byte is there, and no file holds anything but its beginning; how many bytes there are."""
    database = RecordDatabase(place)
    prepare(database)
    total = 0
    with database.read() as session:
        found = {
            f"{run}/{file.path}": b"".join(file_bytes(session, file))
            for file, run in session.execute(select(FileRow, RunRow.name).join(RunRow, RunRow.id == FileRow.run_id))
        }
    for name, size in acknowledged.items():
        assert len(found[name]) >= size, f"{name}: {size} bytes were acknowledged, and {len(found[name])} are there"
    for name, content in found.items():
        run, _, path = name.partition("/")
        (folder,) = [one for one in runs if one.name == run]
        whole = ((folder / path) if folder.is_dir() else folder).read_bytes()
        assert whole.startswith(content), f"{name}: the record holds what the file does not"
        total += len(content)
    database.close()
    return total


def _finish(place: str, runs: list[Path], out: Path) -> None:
    """The next import brings the rest."""
    _import(place, runs, lambda: None, lambda _: None)
    database = RecordDatabase(place)
    for run in runs:
        for path in export_run(database, run.name, out / run.name):
            whole = ((run / path.relative_to(out / run.name)) if run.is_dir() else run).read_bytes()
            assert path.read_bytes() == whole, path
    database.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [Path(one) for one in sys.argv[3:]])
