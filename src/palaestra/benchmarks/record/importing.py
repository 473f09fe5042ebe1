"""Imports runs: every byte of their files, and the index of their lines. Importing again adds what has come since.

A piece of a file is one transaction: lines, their index and the size of the file. So whatever is acknowledged is whole,
an import that was killed goes on where it stopped, and two that import the same run take turns. A file that was
rewritten is followed: lines from the first that differs are replaced.
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
    """What an import added."""

    run: str
    lines: int
    """Lines that are new or were replaced; a document is one."""
    faults: int
    """Those of them that cannot be read."""
    is_empty: bool = False
    """Whether the files hold nothing yet, so that the record has no such run."""


Acknowledge = Callable[[str, int], None]
"""Is given a file's name and its bytes that are in the record and stay there."""


def import_run(
    database: RecordDatabase,
    source: SourceRun,
    *,
    clock: Callable[[], float] = time.time,
    acknowledge: Acknowledge = lambda name, size: None,
) -> ImportSummary:
    """Import a run, or what has come to it since.

    Args:
        database: Where to.
        source: What.
        clock: Gives the seconds since 1970.
        acknowledge: Is called after each commit.

    Raises:
        ConfigError: the record has another run of this name.
        RecordError: a file cannot be read.
        StorageError: the database refuses; what was acknowledged stays.
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
    """Note the run where it is new; hold it to what is known of it where it is not. `False`: there is nothing to note.

    A file of episodes that is empty is no run. One that became empty is followed.
    """
    place = str(source.path.resolve())
    with database.read() as session:  # a record that may only be read has nothing to note where nothing is new
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
    """The run of this name, whose rows nobody else writes until the transaction ends."""
    return session.scalars(select(RunRow).where(RunRow.name == name).with_for_update()).one()


def _check_same(session: Session, run: RunRow, file: SourceFile) -> None:
    """Refuse another run that has the name of one from elsewhere: it would replace that one."""
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
    """Remove files whose content now stands in others: the journal of a finished evaluation, and former saves."""
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
        """Of the bytes that the file was read up to."""
        self._at: tuple[int, str] | None = None
        """Size and digest of the record's file as the last piece left them."""

    def run(self, acknowledge: Acknowledge) -> Iterator[tuple[int, int]]:
        """Import piece after piece; gives how many lines each added, and how many of these are faulty."""
        try:
            with self._file.path.open("rb") as opened:
                while (added := self._piece(opened)) is not None:
                    assert self._at is not None, "a piece leaves its end"
                    acknowledge(self._file.name, self._at[0])
                    yield added
        except FileNotFoundError:
            return  # an evaluation that ended just now has removed its journal
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
        """Whether the record has all of the file, so that nothing is to be written.

        Where the file only goes on, it is then behind what the record has, and need not be read once more.
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
        """Take out what the file no longer holds, and a last line that may go on; the file is then behind the rest."""
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
        """How many lines have an end, and how many bytes these are."""
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
        """What a line says, or why it says nothing; `None` for a last line that may still be written."""
        try:
            return read_line(line.content, self._file.role, stage=self._file.stage, number=number)
        except LineFault as fault:
            is_whole = line.is_ended or self._file.role.is_document
            return str(fault) if is_whole else None


def describe(session: Session, run: RunRow, file: FileRow, found: Sequence[LineIndex]) -> None:
    """Note in the run what its settings say."""
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
    """Remove a run with all that was imported of it. Its folder stays.

    Raises:
        UnknownNameError: there is no such run.
    """
    with database.write() as session:
        session.delete(run_named(session, name))


def rebuild_index(database: RecordDatabase) -> None:
    """Read every line again, such as after a migration that made new tables."""
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
            continue  # a last line that is not whole
        index_lines(session, run, stage, [(id_, found)])
