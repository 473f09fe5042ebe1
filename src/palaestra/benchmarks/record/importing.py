"""Imports runs: every byte of their files, and an index of their lines. A repeated import adds what is new.

One transaction imports one piece of a file: its lines, their index and the file's size. So everything that is
acknowledged is complete, an import that was killed continues where it stopped, and two imports of the same run take
turns. If a file was rewritten, its lines are replaced from the first line that differs.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any, BinaryIO

from sqlalchemy import delete, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from palaestra.benchmarks.evaluation.results import JOURNAL
from palaestra.benchmarks.record.database import RecordDatabase
from palaestra.benchmarks.record.indexing import drop_index, drop_orphans, index_lines
from palaestra.benchmarks.record.line_reader import FileLine, count_equal, hash_prefix, read_piece
from palaestra.benchmarks.record.models import FileRow, LineRow, RunRow
from palaestra.benchmarks.record.queries import run_named
from palaestra.benchmarks.record.reading import LineFault, LineIndex, read_line
from palaestra.benchmarks.record.sources import PROGRESS, FileRole, RunKind, SourceFile, SourceRun, stage_of
from palaestra.benchmarks.record.stored_lines import stored_lines
from palaestra.errors import ConfigError, RecordError
from palaestra.record import record
from palaestra.records import Json, JsonObject

_EMPTY = sha256().hexdigest()
_ENDS = {FileRole.SETTINGS, FileRole.CONFIG}


@record
class ImportSummary:
    """The additions of an import."""

    run: str
    lines: int
    """Number of lines that are new or were replaced; a document counts as one line."""
    faults: int
    """Number of these lines that cannot be read."""
    is_empty: bool = False
    """Whether the files hold nothing yet, so that the record has no such run."""


Acknowledge = Callable[[str, int], None]
"""A callback that receives a file's name and how many of its bytes are stored durably in the record."""


def import_run(
    database: RecordDatabase,
    source: SourceRun,
    *,
    clock: Callable[[], float] = time.time,
    acknowledge: Acknowledge = lambda name, size: None,
) -> ImportSummary:
    """Import a run, or what was added to it since the last import.

    Args:
        database: The record to import into.
        source: The run to import.
        clock: Returns the seconds since 1970.
        acknowledge: Called after each commit.

    Raises:
        ConfigError: the record has another run of this name.
        RecordError: a file cannot be read.
        StorageError: the database refuses the write; acknowledged data stays.
    """
    if not _register(database, source, clock()):
        return ImportSummary(run=source.name, lines=0, faults=0, is_empty=True)
    lines = faults = 0
    for file in source.files:
        for added, faulty in _FileImport(database, source, file, clock).run(acknowledge):
            lines, faults = lines + added, faults + faulty
    _drop_superseded(database, source)
    return ImportSummary(run=source.name, lines=lines, faults=faults)


def _register(database: RecordDatabase, source: SourceRun, now: float) -> bool:
    """Add the run where it is new; otherwise check that it is the same run. `False`: there is nothing to import.

    An empty file of episodes is not a run. A known file that became empty is imported.
    """
    place = str(source.path.resolve())
    with database.read() as session:  # a read-only record needs no write where nothing is new
        known = session.scalars(select(RunRow).where(RunRow.name == source.name)).one_or_none()
        if known is not None and (known.kind, known.source) == (source.kind, place):
            return True
    if known is None and source.kind is RunKind.EPISODES and not any(file.path.stat().st_size for file in source.files):
        return False
    with database.write() as session:
        row = {"name": source.name, "kind": source.kind, "source": place, "updated": now, "agent": "", "suite": ""}
        dialect = sqlite if database.is_file else postgresql
        session.execute(dialect.insert(RunRow).values(row).on_conflict_do_nothing(index_elements=[RunRow.name]))
        run = lock_run(session, source.name)
        if run.kind != source.kind:
            raise ConfigError(
                f"the record has {source.name!r} as {run.kind}, and {source.path} is {source.kind}; give --name"
            )
        if run.source != place:
            for file in source.files:
                _check_same(session, run, file)
            run.source = place
    return True


def lock_run(session: Session, name: str) -> RunRow:
    """Lock the run of this name and return it: no other writer changes its rows until the transaction ends."""
    return session.scalars(select(RunRow).where(RunRow.name == name).with_for_update()).one()


def _check_same(session: Session, run: RunRow, file: SourceFile) -> None:
    """Reject a different run from another place that has the same name: its import would replace the known run."""
    row = _file_row(session, run, file.name)
    if row is None or file.role is FileRole.PROGRESS:
        return
    with file.path.open("rb") as opened:
        digest = hash_prefix(opened, row.size)
    if digest is None or digest.hexdigest() != row.digest:
        raise ConfigError(
            f"the record has another run {run.name!r}, from {run.source}: {file.name} differs; give --name"
        )


def _file_row(session: Session, run: RunRow, name: str) -> FileRow | None:
    return session.scalars(select(FileRow).where(FileRow.run_id == run.id, FileRow.path == name)).one_or_none()


def _drop_superseded(database: RecordDatabase, source: SourceRun) -> None:
    """Remove files whose content is now in other files: the journal of a finished evaluation, and earlier saves."""
    roles = {file.role for file in source.files}
    paths = [f"{file.stage}/{PROGRESS}" for file in source.files if file.role is FileRole.METRICS]
    if FileRole.OUTCOMES in roles:
        paths.append(JOURNAL)
    with database.read() as session:
        rows = select(FileRow.id).join(RunRow, RunRow.id == FileRow.run_id)
        found = session.scalars(rows.where(RunRow.name == source.name, FileRow.path.in_(paths))).all()
    if not found:
        return
    with database.write() as session:
        run = lock_run(session, source.name)
        session.execute(delete(FileRow).where(FileRow.id.in_(found)))
        drop_orphans(session, run)


class _FileImport:
    """The import of one file."""

    def __init__(
        self, database: RecordDatabase, source: SourceRun, file: SourceFile, clock: Callable[[], float]
    ) -> None:
        self._database, self._source, self._file, self._clock = database, source, file, clock
        self._digest = sha256()
        """The hash of the file's bytes up to the current position."""
        self._at: tuple[int, str] | None = None
        """Size and digest of the record's file after the last piece."""

    def run(self, acknowledge: Acknowledge) -> Iterator[tuple[int, int]]:
        """Import the file piece by piece; yield the number of lines that each piece added, and how many are faulty."""
        try:
            with self._file.path.open("rb") as opened:
                while (added := self._piece(opened)) is not None:
                    assert self._at is not None, "a piece leaves its end"
                    acknowledge(self._file.name, self._at[0])
                    yield added
        except FileNotFoundError:
            return  # an evaluation that has just ended removed its journal
        except OSError as error:
            if error.filename != str(self._file.path):
                raise
            raise RecordError(f"{self._file.path}: cannot be read ({error.strerror}); check its rights") from error

    def _piece(self, opened: BinaryIO) -> tuple[int, int] | None:
        if self._is_unchanged(opened):
            return None
        with self._database.write() as session:
            run = lock_run(session, self._source.name)
            file = _file_row(session, run, self._file.name) or self._new_row(session, run)
            if (file.size, file.digest) != self._at:
                self._go_behind(session, run, file, opened)
            lines = self._next(opened)
            if not lines and self._at is not None:
                return None
            added = self._write(session, run, file, lines) if lines else (0, 0)
            for line in lines:
                self._digest.update(line.data)
            file.size += sum(line.size for line in lines)
            file.digest = self._digest.hexdigest()
            run.updated = self._clock()
            after = file.size, file.digest
        self._at = after
        return added

    def _is_unchanged(self, opened: BinaryIO) -> bool:
        """Whether the record already has the whole file, so that nothing is written.

        If the file only grew, this moves the read position behind the imported part, so that it is not read again.
        """
        if self._at is not None:
            return False
        with self._database.read() as session:
            run = session.scalars(select(RunRow).where(RunRow.name == self._source.name)).one()
            file = _file_row(session, run, self._file.name)
            if file is None:
                return False
            digest = hash_prefix(opened, file.size)
            if digest is None or digest.hexdigest() != file.digest:
                return False
            if not opened.read(1):
                return True
            opened.seek(file.size)
            if not self._file.role.is_document and self._before_open_line(session, file)[1] == file.size:
                self._digest, self._at = digest, (file.size, file.digest)
            return False

    def _new_row(self, session: Session, run: RunRow) -> FileRow:
        row = FileRow(run_id=run.id, path=self._file.name, role=self._file.role, size=0, digest=_EMPTY)
        session.add(row)
        session.flush()
        return row

    def _go_behind(self, session: Session, run: RunRow, file: FileRow, opened: BinaryIO) -> None:
        """Remove what the file no longer holds, and an unfinished last line; move the read position behind the rest."""
        opened.seek(0)
        digest = hash_prefix(opened, file.size)
        is_equal = digest is not None and digest.hexdigest() == file.digest
        if self._file.role.is_document:
            kept = (1, file.size) if is_equal and not opened.read(1) else (0, 0)
        elif is_equal:
            kept = self._before_open_line(session, file)
        else:
            ended = (line for line in stored_lines(session, file.id) if line.is_ended)
            kept = count_equal(opened, ended)
        self._cut(session, run, file, *kept)
        opened.seek(0)
        found = hash_prefix(opened, file.size)
        if found is None:
            raise RecordError(f"{self._file.path}: became shorter while it was read; import it again")
        self._digest = found
        file.digest = found.hexdigest()
        session.flush()

    def _cut(self, session: Session, run: RunRow, file: FileRow, count: int, size: int) -> None:
        """Keep the first `count` lines, which are `size` bytes."""
        if size != file.size:
            session.execute(delete(LineRow).where(LineRow.file_id == file.id, LineRow.number > count))
            drop_orphans(session, run)
            file.size = size

    def _before_open_line(self, session: Session, file: FileRow) -> tuple[int, int]:
        """The number of lines that have an end, and their size in bytes."""
        last = session.execute(
            select(LineRow.number, LineRow.is_ended, LineRow.content)
            .where(LineRow.file_id == file.id)
            .order_by(LineRow.number.desc())
            .limit(1)
        ).first()
        if last is None or last.is_ended:
            return (0 if last is None else last.number), file.size
        return last.number - 1, file.size - len(last.content)

    def _next(self, opened: BinaryIO) -> list[FileLine]:
        if not self._file.role.is_document:
            return read_piece(opened, self._file.path)
        content = opened.read()
        return [FileLine(content=content, is_ended=False)] if content else []

    def _write(self, session: Session, run: RunRow, file: FileRow, lines: Sequence[FileLine]) -> tuple[int, int]:
        last = select(LineRow.number).where(LineRow.file_id == file.id).order_by(LineRow.number.desc()).limit(1)
        first = (session.scalar(last) or 0) + 1
        found = [self._read(line, number) for number, line in enumerate(lines, first)]
        rows: list[dict[str, Any]] = [
            {
                "file_id": file.id,
                "number": number,
                "content": line.content,
                "is_ended": line.is_ended,
                "fault": index if isinstance(index, str) else None,
            }
            for number, (line, index) in enumerate(zip(lines, found, strict=True), first)
        ]
        ids = session.scalars(insert(LineRow).returning(LineRow.id, sort_by_parameter_order=True), rows).all()
        indexed = [(id_, one) for id_, one in zip(ids, found, strict=True) if isinstance(one, LineIndex)]
        describe(session, run, file, [one for _, one in indexed])
        index_lines(session, run, self._file.stage, indexed)
        return len(lines), sum(isinstance(one, str) for one in found)

    def _read(self, line: FileLine, number: int) -> LineIndex | str | None:
        """Parse a line. Give its index, why it is unreadable, or `None` for a last line that may be unfinished."""
        try:
            return read_line(line.content, self._file.role, stage=self._file.stage, number=number)
        except LineFault as fault:
            is_whole = line.is_ended or self._file.role.is_document
            return str(fault) if is_whole else None


def describe(session: Session, run: RunRow, file: FileRow, found: Sequence[LineIndex]) -> None:
    """Copy facts from the run's settings into its row."""
    if file.role not in _ENDS or not found:
        return
    settings = found[0].settings
    values: dict[str, Any] = {}
    if file.role == FileRole.SETTINGS:
        suite = settings.get("suite")
        values = {"agent": _text(settings.get("agent"))}
        if isinstance(suite, dict):
            values |= {"suite": _text(suite.get("name")), "expected": _count_episodes(settings, suite)}
    for name, value in values.items():
        setattr(run, name, value)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _count_episodes(settings: JsonObject, suite: JsonObject) -> int | None:
    samples, cells = settings.get("samples"), suite.get("cells")
    if not isinstance(samples, int) or not isinstance(cells, list):
        return None
    tasks = [cell.get("tasks") for cell in cells if isinstance(cell, dict)]
    return samples * sum(len(own) for own in tasks if isinstance(own, list))


def remove_run(database: RecordDatabase, name: str) -> None:
    """Remove a run with everything that was imported from it. Its folder stays.

    Raises:
        UnknownNameError: there is no such run.
    """
    with database.write() as session:
        session.delete(run_named(session, name))


def rebuild_index(database: RecordDatabase) -> None:
    """Parse every line again, for example after a migration that added tables."""
    with database.read() as session:
        names = session.scalars(select(RunRow.name)).all()
    for name in names:
        with database.write() as session:
            run = lock_run(session, name)
            for file in session.scalars(select(FileRow).where(FileRow.run_id == run.id).order_by(FileRow.id)).all():
                _rebuild(session, run, file)
            drop_orphans(session, run)


def _rebuild(session: Session, run: RunRow, file: FileRow) -> None:
    role, stage = FileRole(file.role), stage_of(file.path)
    rows = session.execute(
        select(LineRow.id, LineRow.number).where(LineRow.file_id == file.id, LineRow.fault.is_(None))
    ).all()
    drop_index(session, file)
    for id_, number in rows:
        content = session.scalars(select(LineRow.content).where(LineRow.id == id_)).one()
        try:
            found = read_line(content, role, stage=stage, number=number)
        except LineFault:
            continue  # an unfinished last line
        index_lines(session, run, stage, [(id_, found)])
