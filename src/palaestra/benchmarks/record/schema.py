"""The version of a record's tables: which version a database has, and its migration to another version.

Alembic runs the migrations. It comes with the extra `serve` and is imported only where a migration runs.
"""

from importlib.resources import files
from pathlib import Path

from sqlalchemy import inspect, text
from sqlalchemy.orm import Session

from palaestra.benchmarks.record.database import RecordDatabase
from palaestra.benchmarks.record.importing import rebuild_index
from palaestra.errors import RecordError

REVISIONS = ("0001", "0002")
"""All versions, the oldest first."""
NEWEST = REVISIONS[-1]
EMPTY = "base"
"""The version of a database without tables."""


def revision_of(database: RecordDatabase) -> str:
    """The version of a database; `EMPTY` where it holds nothing.

    Raises:
        RecordError: the database holds other tables.
    """
    with database.read() as session:
        return _revision(session, database.label)


def _revision(session: Session, label: str) -> str:
    tables = set(inspect(session.connection()).get_table_names())
    if "alembic_version" not in tables:
        if tables:
            raise RecordError(f"{label}: holds the table {min(tables)!r} and no record; give an empty database")
        return EMPTY
    return session.scalar(text("SELECT version_num FROM alembic_version")) or EMPTY


def check_schema(database: RecordDatabase) -> None:
    """Check that the tables have this version.

    Raises:
        RecordError: there are no tables, or they have an older or newer version.
    """
    found = revision_of(database)
    if found == NEWEST:
        return
    if found == EMPTY:
        raise RecordError(f"{database.label}: holds no record yet; `palaestra record import RUN` makes one")
    if found in REVISIONS:
        raise RecordError(
            f"{database.label}: has tables of version {found}, and this Palaestra needs {NEWEST}; "
            "`palaestra record migrate` brings them up to date"
        )
    raise RecordError(
        f"{database.label}: was made by a newer Palaestra (version {found}, newer than {NEWEST}); install that one"
    )


def migrate(database: RecordDatabase, revision: str = NEWEST) -> tuple[str, str]:
    """Migrate the tables to a version, in one transaction.

    Args:
        database: The database to migrate.
        revision: One of `REVISIONS`, or `EMPTY`.

    Returns:
        The version before, and the version after.

    Raises:
        RecordError: the database was made by a newer version, or holds something else.
        StorageError: the database refuses the migration; it stays unchanged.
    """
    known = (EMPTY, *REVISIONS)
    if revision not in known:
        raise RecordError(f"there is no version {revision!r} of a record; there are: {', '.join(known)}")
    if revision_of(database) not in known:
        check_schema(database)
    from alembic import command  # noqa: PLC0415  the extra `serve`
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(Path(str(files("palaestra.benchmarks.record"))) / "migrations"))
    config.set_main_option("path_separator", "os")
    with database.connect() as connection:
        if not database.is_file:
            connection.execute(text("SELECT pg_advisory_xact_lock(5038230)"))  # one migration at a time
        with Session(connection) as session:
            before = _revision(session, database.label)  # read again: from here on no other migration runs
        config.attributes["connection"] = connection
        upwards = known.index(revision) >= known.index(before)
        (command.upgrade if upwards else command.downgrade)(config, revision)
    if before not in (EMPTY, revision) and revision == NEWEST:
        rebuild_index(database)
    return before, revision


def prepare(database: RecordDatabase) -> None:
    """Create the tables where there are none, and check existing ones. It raises as `check_schema` does."""
    if revision_of(database) == EMPTY:
        migrate(database)
    check_schema(database)
