"""Writes a world's rows to an SQLite file, with the tables that its schema declares."""

import sqlite3
from pathlib import Path

import sqlalchemy as sa

from palaestra.envs.state import Overlay


def write_database(overlay: Overlay, path: Path) -> None:
    """Write all rows of `overlay` into a new SQLite file."""
    schema = overlay.base.schema
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        schema.metadata.create_all(connection)
        for info in schema:
            rows = [{name: getattr(row, name) for name in info.columns} for row in overlay.find(info.kind)]
            if rows:
                connection.execute(schema.sql_table(info.name).insert(), rows)
    engine.dispose()


def create_indexes(path: Path) -> None:
    """Index the columns by which the server looks up rows, as an operator of such a server would."""
    with sqlite3.connect(path) as connection:
        for table in ("order_lines", "payments", "shipments", "refunds"):
            connection.execute(f"CREATE INDEX {table}_by_order ON {table} (order_id)")
    connection.close()
