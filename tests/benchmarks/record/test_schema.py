"""Migrations go up and down and keep what was imported; databases of others and of newer versions are refused."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import func, select, text

from palaestra.benchmarks.record import (
    EMPTY,
    REVISIONS,
    RecordDatabase,
    check_schema,
    export_run,
    find_sources,
    import_run,
    migrate,
    prepare,
)
from palaestra.benchmarks.record.models import LINES, RecordTable
from palaestra.errors import ConfigError, RecordError, StorageError
from recorded import write_made_evaluation, write_training
from recorded.postgres import PostgresServer


def rows_of(database: RecordDatabase) -> dict[str, int]:
    with database.read() as session:
        return {
            name: session.scalar(select(func.count()).select_from(table)) or 0
            for name, table in RecordTable.metadata.tables.items()
        }


def test_migrations_come_to_the_tables_that_the_models_declare(database: RecordDatabase) -> None:
    with database.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, RecordTable.metadata) == []


def test_down_and_up_again_keeps_every_line_and_builds_the_index_anew(database: RecordDatabase, tmp_path: Path) -> None:
    write_training(tmp_path / "train", [])
    write_made_evaluation(tmp_path / "eval")
    for name in ("train", "eval"):
        (source,) = find_sources(tmp_path / name, name=name)
        import_run(database, source)
    before = rows_of(database)
    assert all(before[name] for name in {"figures", "scores", "verdicts", "training_events", *LINES})
    assert migrate(database, REVISIONS[0]) == (REVISIONS[1], REVISIONS[0])
    with pytest.raises(
        RecordError, match=r"tables of version 0001, and this Palaestra needs 0002; `palaestra record mig"
    ):
        check_schema(database)
    assert migrate(database) == REVISIONS
    assert rows_of(database) == before
    paths = export_run(database, "train", tmp_path / "out")
    assert all(
        path.read_bytes() == (tmp_path / "train" / path.relative_to(tmp_path / "out")).read_bytes() for path in paths
    )


def test_all_the_way_down_leaves_an_empty_database(database: RecordDatabase) -> None:
    assert migrate(database, EMPTY) == (REVISIONS[-1], EMPTY)
    with pytest.raises(RecordError, match="holds no record yet"):
        check_schema(database)
    prepare(database)
    check_schema(database)
    with pytest.raises(RecordError, match="there is no version '7' of a record; there are: base, 0001, 0002"):
        migrate(database, "7")


def test_a_record_of_a_newer_version_is_refused_and_left_alone(database: RecordDatabase) -> None:
    with database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0099'"))
    for attempt in (check_schema, prepare, migrate):
        with pytest.raises(RecordError, match=r"made by a newer Palaestra \(version 0099, newer than 0002\)"):
            attempt(database)


def test_a_database_of_something_else_is_refused(place: str) -> None:
    database = RecordDatabase(place)
    with database.write() as session:
        session.execute(text("CREATE TABLE invoices (id INTEGER)"))
    with pytest.raises(RecordError, match="holds the table 'invoices' and no record; give an empty database"):
        prepare(database)
    database.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.db"
    path.write_bytes(b"not a database, but long enough to look like the page of one" * 20)
    database = RecordDatabase(str(path))
    with pytest.raises(RecordError, match="no record of results"):
        prepare(database)
    database.close()
    with pytest.raises(RecordError, match="there is no record yet"):
        RecordDatabase(str(tmp_path / "missing.db"), is_new=False)


@pytest.mark.parametrize("url", ["mysql://a/b", "postgresql+psycopg2://a/b", "://", "http://[::1"])
def test_a_url_of_another_kind_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError, match="the URL of the record") as caught:
        RecordDatabase(url.replace("//a", "//me:secret@a"))
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_said_without_the_password() -> None:
    database = RecordDatabase("postgresql://me:secret@127.0.0.1:1/x")
    with pytest.raises(StorageError, match=r"postgresql\+psycopg://me:\*\*\*@127\.0\.0\.1:1/x: ") as caught:
        prepare(database)
    assert "secret" not in str(caught.value)
    database.close()


def test_a_database_that_is_missing_is_said_with_how_to_make_it(postgres: PostgresServer) -> None:
    database = RecordDatabase(postgres.new_database().replace("/record", "/missing"))
    with pytest.raises(StorageError, match=r'database "missing\d+" does not exist; make it with `createdb DATABASE`'):
        check_schema(database)
    database.close()


def test_who_has_no_rights_is_told_which_are_missing(postgres: PostgresServer) -> None:
    place = postgres.new_database()
    owner = RecordDatabase(place)
    with owner.write() as session:
        session.execute(text("CREATE ROLE guest LOGIN"))
    database = RecordDatabase(place.replace("palaestra@", "guest@"))
    with pytest.raises(StorageError, match=r"permission denied for schema public.*; let the owner of the database run"):
        prepare(database)
    prepare(owner)
    with pytest.raises(StorageError, match=r"permission denied for table alembic_version"):
        check_schema(database)
    database.close()
    owner.close()


def test_a_wrong_password_is_said_without_it(postgres: PostgresServer) -> None:
    place = postgres.new_database()
    owner = RecordDatabase(place)
    with owner.write() as session:
        session.execute(text("CREATE ROLE anna LOGIN PASSWORD 'right'"))
        rules = Path(str(session.scalar(text("SHOW hba_file"))))
    rules.write_text(f"local all anna scram-sha-256\n{rules.read_text()}")
    with owner.write() as session:
        session.execute(text("SELECT pg_reload_conf()"))
        session.execute(text("SELECT pg_sleep(0.5)"))
    for given in ("anna", "anna:secret"):
        database = RecordDatabase(place.replace("palaestra@", f"{given}@"))
        with pytest.raises(StorageError, match=r"(authentication failed|no password supplied).*; check user") as caught:
            check_schema(database)
        assert "secret" not in str(caught.value)
        database.close()
    database = RecordDatabase(place.replace("palaestra@", "anna:right@"))
    with pytest.raises(RecordError, match="holds no record yet"):
        check_schema(database)
    database.close()
    owner.close()
