"""The database of a record: an SQLite file, or PostgreSQL by URL; transactions, and errors that name the way out.

SQLite keeps its usual journal, not a write-ahead log: then one file is the whole record, which can be copied and read
from a folder that nobody may write to. A commit returns once the disk has it (`synchronous=EXTRA`).
"""

import errno
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError
from sqlalchemy.orm import Session

from palaestra.durable import explain_disk_errors, make_folder
from palaestra.errors import ConfigError, RecordError, StorageError

_WRITES = "palaestra_writes"
_WAIT = 60
"""Seconds for which a writer waits for another one."""
_SCHEMES = frozenset({"postgresql", "postgres", "postgresql+psycopg", "sqlite"})


class RecordDatabase:
    """A record's database, open.

    Args:
        place: The path of an SQLite file, or a URL of `postgresql`.
        is_new: Make the file where it is missing.

    Raises:
        ConfigError: the URL cannot be read, or is of another kind of database.
        RecordError: there is no such file, and it is not to be made.
        StorageError: the folder of the file cannot be made.
    """

    def __init__(self, place: str, *, is_new: bool = True) -> None:
        url = _url_of(place)
        self.label = url.render_as_string(hide_password=True) if url.host or "://" in place else place
        """Its place without a password."""
        self.is_file = url.get_backend_name() == "sqlite"
        if "://" not in place:
            path = Path(place).resolve()
            if not is_new and not path.is_file():
                raise RecordError(
                    f"{place}: there is no record yet; `palaestra record import RUN` makes one, or give --db"
                )
            with explain_disk_errors(path):
                make_folder(path.parent)
        arguments: dict[str, Any] = {"timeout": _WAIT, "check_same_thread": False} if self.is_file else {}
        self.engine = create_engine(url, connect_args=arguments, pool_pre_ping=not self.is_file)
        if self.is_file:
            _prepare(self.engine)

    @contextmanager
    def read(self) -> Generator[Session]:
        """A session that reads one state of the record.

        Raises:
            RecordError: the database cannot be read.
        """
        with self._errors(), Session(self.engine) as session:
            yield session

    @contextmanager
    def write(self) -> Generator[Session]:
        """A session that is committed when the block ends well. Once this returns, no crash takes it back.

        Raises:
            StorageError: the database refuses; nothing of the block is kept.
            RecordError: it is no database.
        """
        with self._errors(), self.engine.connect() as connection:
            own = connection.execution_options(**{_WRITES: True})
            with Session(own) as session, session.begin():
                yield session

    @contextmanager
    def connect(self) -> Generator[Connection]:
        """A connection within a transaction that writes, for migrations; raises as `write` does."""
        with self._errors(), self.engine.connect() as connection:
            own = connection.execution_options(**{_WRITES: True})
            with own.begin():
                yield own

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except OperationalError as error:
            raise _storage_error(self.label, error) from error
        except DatabaseError as error:
            if "not a database" in str(error.orig) or "malformed" in str(error.orig):
                raise RecordError(
                    f"{self.label}: no record of results ({error.orig}); give another file, or restore this one"
                ) from error
            raise


def _url_of(place: str) -> URL:
    if "://" not in place:
        return URL.create("sqlite", database=place)
    try:
        url = make_url(place)
    except (ArgumentError, ValueError) as error:
        raise ConfigError("the URL of the record cannot be read; write postgresql://USER@HOST/DATABASE") from error
    if url.drivername not in _SCHEMES:
        raise ConfigError(
            f"the URL of the record begins with {url.drivername!r}; give postgresql://USER@HOST/DATABASE, or the path "
            "of an SQLite file"
        )
    return url if url.drivername == "sqlite" else url.set(drivername="postgresql+psycopg")


def _prepare(engine: Engine) -> None:
    # Any: the connections of Python's sqlite3, as SQLAlchemy hands them out.
    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.isolation_level = None  # the next listener begins transactions
        for pragma in ("foreign_keys=ON", "synchronous=EXTRA"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        # A writer takes its lock at once: two that read first could each wait for the other.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get(_WRITES) else "BEGIN")


def _storage_error(label: str, error: OperationalError) -> StorageError:
    said = " ".join(str(error.orig).split())
    if "full" in said or "No space left" in said:
        return StorageError(errno.ENOSPC, f"{label}: the disk is full; what was acknowledged stays; free some space")
    if "readonly" in said or "read-only" in said:
        return StorageError(errno.EROFS, f"{label}: cannot be written ({said}); check its rights, or give another --db")
    if "locked" in said:
        return StorageError(
            errno.EBUSY, f"{label}: another process has written for {_WAIT} seconds; wait for it and run this again"
        )
    return StorageError(
        errno.EIO, f"{label}: {said}; what was acknowledged stays; check path, rights, space and server"
    )
