"""Writes a run's files as they were imported, byte for byte, and recreates an evaluation's report from them."""

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from palaestra.benchmarks.evaluation.results import OUTCOMES, SETTINGS, TRAJECTORIES, read_results
from palaestra.benchmarks.record.database import RecordDatabase
from palaestra.benchmarks.record.models import FileRow
from palaestra.benchmarks.record.queries import run_named
from palaestra.benchmarks.record.stored_lines import stored_lines
from palaestra.durable import explain_disk_errors, make_folder
from palaestra.errors import RecordError, StorageError

REPORTS = ("report.json", "report.md", "report.html")
"""The files that are computed from the other files of an evaluation."""


def export_run(database: RecordDatabase, name: str, folder: Path) -> list[Path]:
    """Write the files of a run to a new folder.

    Args:
        database: The record that holds the run.
        name: The name of the run.
        folder: The folder to create; it must not exist, or must be empty.

    Returns:
        The paths of the files.

    Raises:
        UnknownNameError: there is no such run.
        StorageError: the folder is not empty, or writing to the disk failed.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StorageError(17, f"{folder} holds something already; export into a new folder")
    with database.read() as session:
        run = run_named(session, name)
        files = session.scalars(select(FileRow).where(FileRow.run_id == run.id).order_by(FileRow.id)).all()
        return [_write(session, file, folder) for file in files]


def write_reports(folder: Path) -> list[Path]:
    """Recreate the reports of an evaluation, which a record does not hold; the same results give the same bytes.

    Args:
        folder: The files of a run.

    Returns:
        The paths of the reports; empty where the folder holds no finished evaluation.

    Raises:
        RecordError: a file of the evaluation cannot be read, so its reports cannot be written.
        StorageError: writing to the disk failed.
    """
    if not all((folder / name).is_file() for name in (SETTINGS, OUTCOMES, TRAJECTORIES)):
        return []
    from palaestra.benchmarks.evaluation.report import write_report  # noqa: PLC0415  it loads worlds

    try:
        write_report(read_results(folder), folder)
    except KeyError as error:
        raise RecordError(f"{folder}: its outcomes are of tasks that its settings lack ({error})") from error
    return [folder / name for name in REPORTS]


def _write(session: Session, file: FileRow, folder: Path) -> Path:
    path = folder / file.path
    with explain_disk_errors(path.resolve()):
        make_folder(path.resolve().parent)
        with path.open("xb") as opened:
            for part in file_bytes(session, file):
                opened.write(part)
    return path


def file_bytes(session: Session, file: FileRow) -> Iterator[bytes]:
    """The content of a file as it was imported, in parts."""
    return (line.data for line in stored_lines(session, file.id))
