"""The database of a record: an SQLite file, or PostgreSQL by URL. Errors name a remedy.

SQLite keeps its default rollback journal instead of a write-ahead log. So one file is the whole record; it can be
copied, and read from a folder without write permission. A commit returns once the data is on disk
(`synchronous=EXTRA`).
"""

import errno
import re
from collections.abc import Generator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.orm import Session

from palaestra.durable import explain_disk_errors, make_folder
from palaestra.errors import ConfigError, RecordError, StorageError

_WRITES = "palaestra_writes"
_WAIT = 60
"""Seconds for which a writer waits for another writer."""
_SCHEMES = frozenset({"postgresql", "postgres", "postgresql+psycopg", "sqlite"})


class RecordDatabase:
    """An open database of a record.

    Args:
        place: The path of an SQLite file, or a URL of `postgresql`.
        is_new: Create the file where it is missing.

    Raises:
        ConfigError: the URL cannot be read, or names another kind of database.
        RecordError: the file does not exist, and `is_new` is false.
        StorageError: the folder of the file cannot be created.
    """

    def __init__(self, place: str, *, is_new: bool = True) -> None:
        url = _url_of(place)
        self.label = _hide_secrets(url).render_as_string(hide_password=True) if "://" in place else place
        """The place of the database without a password."""
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
        try:
            self.engine = create_engine(url, connect_args=arguments, pool_pre_ping=not self.is_file)
        except (SQLAlchemyError, ValueError, TypeError) as error:
            raise ConfigError(f"{self.label}: cannot be opened ({_first_line(error)}); {_WAY_OUT}") from error
        if self.is_file:
            _prepare(self.engine)

    @contextmanager
    def read(self) -> Generator[Session]:
        """Open a session that reads one consistent state of the record.

        Raises:
            RecordError: the database cannot be read.
        """
        with self._errors(), Session(self.engine) as session:
            yield session

    @contextmanager
    def write(self) -> Generator[Session]:
        """Open a session that is committed when the block ends without an exception. A commit survives a crash.

        Raises:
            StorageError: the database refuses the write; nothing of the block is kept.
            RecordError: the file is not a database.
        """
        with self._errors(), self.engine.connect() as connection:
            own = connection.execution_options(**{_WRITES: True})
            with Session(own) as session, session.begin():
                yield session

    @contextmanager
    def connect(self) -> Generator[Connection]:
        """Open a connection within a write transaction, for migrations. It raises as `write` does."""
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
        except (OperationalError, InterfaceError) as error:
            raise _storage_error(self.label, error) from error
        except DatabaseError as error:
            if "not a database" in str(error.orig) or "malformed" in str(error.orig):
                raise RecordError(
                    f"{self.label}: no record of results ({error.orig}); give another file, or restore this one"
                ) from error
            if _state_of(error) in _REFUSALS:
                raise _storage_error(self.label, error) from error
            if isinstance(error, ProgrammingError) and not self.is_file and _state_of(error) is None:
                # No server has answered: the driver rejects the URL.
                raise ConfigError(f"{self.label}: {_first_line(error.orig)}; {_WAY_OUT}") from error
            raise


_WAY_OUT = "write postgresql://USER@HOST/DATABASE, or the path of an SQLite file"
_REFUSALS = frozenset({"42501", "25006", "3D000", "28000", "28P01"})
"""SQLSTATE codes of a missing permission, a read-only server, a missing database and a rejected user."""
_FILE_OPTIONS = frozenset({"uri", "mode", "cache", "immutable", "nolock", "vfs"})
"""Options that an SQLite URL may have after `?`."""
_SECRETS = frozenset(
    {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key", "passfile"}
)


def _hide_secrets(url: URL) -> URL:
    """Hide secrets among the options of the URL; SQLAlchemy hides only the password before the host."""
    return url.set(query={name: "hidden" if name in _SECRETS else value for name, value in url.query.items()})


def _url_of(place: str) -> URL:
    if "://" not in place:
        if not place or place.partition(":")[0] in _SCHEMES:
            raise ConfigError(f"the place of the record is {place!r}; {_WAY_OUT}")
        return URL.create("sqlite", database=place)
    try:
        url = make_url(place)
    except (ArgumentError, ValueError) as error:
        raise ConfigError(f"the URL of the record {_mask(place)!r} cannot be read; {_WAY_OUT}") from error
    if url.drivername not in _SCHEMES:
        raise ConfigError(f"the URL of the record begins with {url.drivername!r}; {_WAY_OUT}")
    if url.drivername == "sqlite":
        unknown = [name for name in url.query if name not in _FILE_OPTIONS]
        if url.host or unknown:
            what = f"the option {unknown[0]!r}, which SQLite does not know" if unknown else "a host, and is of a file"
            raise ConfigError(f"the URL of the record {_mask(place)!r} has {what}; {_WAY_OUT}")
        return url
    _check_options(url)
    return url.set(drivername="postgresql+psycopg")


def _check_options(url: URL) -> None:
    """Reject options that PostgreSQL's client does not have; it reports them when it connects, or not at all."""
    from psycopg.pq import Conninfo  # noqa: PLC0415  the extra `postgres`

    known = sorted(option.keyword.decode() for option in Conninfo.get_defaults())
    for name, value in url.query.items():
        if name not in known:
            near = get_close_matches(name, known, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "leave it out"
            raise ConfigError(f"the URL of the record has the option {name!r}, which PostgreSQL does not know; {hint}")
        if not isinstance(value, str) and name != "host":
            raise ConfigError(f"the URL of the record has the option {name!r} several times; give it once")


def _mask(place: str) -> str:
    """Mask possible passwords in a URL that cannot be parsed."""
    shown = re.sub(r"(://[^:/@?]*:).*@", r"\1***@", place, flags=re.DOTALL)
    return re.sub(rf"\b({'|'.join(sorted(_SECRETS))})=[^&]*", r"\1=***", shown)


def _first_line(error: BaseException | None) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _state_of(error: DBAPIError) -> str | None:
    """The SQLSTATE that a server returned; `None` where no server answered."""
    state: object = getattr(error.orig, "sqlstate", None)
    return state if isinstance(state, str) else None


def _prepare(engine: Engine) -> None:
    # Any: connections of Python's sqlite3, which SQLAlchemy passes without a type.
    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.isolation_level = None  # the next listener begins transactions
        for pragma in ("foreign_keys=ON", "synchronous=EXTRA"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:  # pyright: ignore[reportUnusedFunction]
        # A writer takes its lock at once: two writers that read first could wait for each other.
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get(_WRITES) else "BEGIN")


def _storage_error(label: str, error: DBAPIError) -> StorageError:
    said = " ".join(str(error.orig).split())
    if "disk is full" in said or "No space left" in said or _state_of(error) == "53100":
        return StorageError(errno.ENOSPC, f"{label}: the disk is full; what was acknowledged stays; free some space")
    if "readonly" in said or "read-only" in said:
        return StorageError(errno.EROFS, f"{label}: cannot be written ({said}); check its rights, or give another --db")
    if "database is locked" in said or "database table is locked" in said:
        return StorageError(
            errno.EBUSY, f"{label}: another process has written for {_WAIT} seconds; wait for it and run this again"
        )
    return StorageError(errno.EIO, f"{label}: {said}; {_advice(said)}")


def _advice(said: str) -> str:
    """A remedy for an error message of a server or its client."""
    for words, advice in _ADVICE.items():
        if re.search(words, said):
            return advice
    return "what was acknowledged stays; check path, rights, space and server"


_ADVICE = {
    r'database ".*" does not exist': "make it with `createdb DATABASE`, or name another one in --db",
    r"authentication failed|no password supplied|role .* does not exist": "check user and password; "
    "the variable PALAESTRA_RECORD or a file ~/.pgpass keeps a password out of the list of processes",
    r"permission denied": "let the owner of the database run `GRANT ALL ON SCHEMA public TO USER`",
    r"resolve host|Connection refused|No such file or directory|timeout expired|timed out": "check host and port, and "
    "that the server runs; what was acknowledged stays",
}
"""Remedies by patterns in error messages of PostgreSQL and its client."""
