"""A record in SQLite and in PostgreSQL: every test that takes `database` or `place` runs on both."""

from collections.abc import Generator
from pathlib import Path

import pytest

from palaestra.benchmarks.record import RecordDatabase, prepare
from recorded.postgres import PostgresServer


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new record may be made."""
    if request.param == "sqlite":
        return str(tmp_path / "record.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
def database(place: str) -> Generator[RecordDatabase]:
    """An empty record."""
    opened = RecordDatabase(place)
    prepare(opened)
    yield opened
    opened.close()
