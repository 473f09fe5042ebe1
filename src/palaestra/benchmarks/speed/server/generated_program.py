"""The server of a generated world: FastAPI tools over an SQLite file, one uvicorn process per episode.

It is generated from the tools of a world: each tool has an endpoint with a pydantic model of its arguments. A lookup is
an SQLAlchemy query. A write loads the rows, applies the changes that the world made on the same call, and reads the
rows back. The server does not evaluate conditions and values, so it does less than the world. It imports nothing from
Palaestra.

    python generated_program.py DATABASE SOCKET SPECIFICATION
"""

import json
import socket
import sys
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, create_model

Found = dict[str, Any]
_TYPES: dict[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}
PAGE = 10


class TableStore:
    """The database: one connection, and one transaction per call.

    Args:
        path: The SQLite file.
    """

    def __init__(self, path: str) -> None:
        self.engine = sa.create_engine(f"sqlite:///{path}")
        self._tables = sa.MetaData()
        self._tables.reflect(self.engine)

    def rows(self, connection: sa.Connection, table: str, equal: Found, *, words: str = "", most: int = 0) -> list[Any]:
        """The rows whose columns equal `equal` and whose texts contain all of `words`, ordered by id."""
        columns = self._tables.tables[table].c
        chosen = sa.select(*columns).where(*(columns[name] == value for name, value in equal.items()))
        texts = [column for column in columns if isinstance(column.type, sa.String)]
        for word in words.split():
            chosen = chosen.where(sa.or_(*(text.icontains(word, autoescape=True) for text in texts)))
        chosen = chosen.order_by(columns.id)
        return [dict(row) for row in connection.execute(chosen.limit(most) if most else chosen).mappings()]

    def write(self, connection: sa.Connection, table: str, key: str, values: Found | None) -> Any:
        """Change, add or delete (`values` is `None`) a row, and return its new state."""
        sql = self._tables.tables[table]
        read = {
            name: sql.c[name].type.python_type.fromisoformat(value)
            if isinstance(value, str) and hasattr(sql.c[name].type.python_type, "fromisoformat")
            else value
            for name, value in (values or {}).items()
        }
        if values is None:
            connection.execute(sql.delete().where(sql.c.id == key))
        elif self.rows(connection, table, {"id": key}):
            connection.execute(sql.update().where(sql.c.id == key).values(**read))
        else:
            connection.execute(sql.insert().values(**read))
        return self.rows(connection, table, {"id": key})


def application(store: TableStore, specification: Found) -> FastAPI:
    """Make an application with one endpoint per tool of a world."""
    app = FastAPI()
    writes: dict[str, list[list[Any]]] = specification["writes"]
    for tool in specification["tools"]:
        model = _model(tool["name"], tool["parameters"])
        endpoint = _write(store, tool, model, writes) if tool["writes"] else _look_up(store, tool, model)
        app.post(f"/{tool['name']}")(endpoint)
    return app


def _model(name: str, schema: Found) -> type[BaseModel]:
    required = set(schema.get("required", ()))
    fields: Any = {
        argument: (_TYPES.get(part.get("type"), Any), ... if argument in required else None)
        for argument, part in schema.get("properties", {}).items()
    }
    return create_model(name, **fields)


def _look_up(store: TableStore, tool: Found, model: Any) -> Any:
    reads = tool["reads"]

    async def look_up(asked: Any) -> Found:
        if reads is None:
            return {"done": True}
        given = asked.model_dump()
        equal = {column: given[name] for name, column in reads["by"].items() if given[name] is not None}
        words = given[reads["search"]] or "" if reads["search"] else ""
        with store.engine.connect() as connection:
            found = store.rows(connection, reads["table"], equal, words=words, most=PAGE if reads["cursor"] else 0)
        if not found and "id" in equal:
            raise HTTPException(404, f"there is no {equal['id']} in {reads['table']}")
        return {"results": found}

    look_up.__annotations__["asked"] = model
    return look_up


def _write(store: TableStore, tool: Found, model: Any, writes: dict[str, list[list[Any]]]) -> Any:
    async def write(asked: Any) -> Found:
        key = json.dumps([tool["name"], asked.model_dump(exclude_unset=True)], sort_keys=True)
        with store.engine.begin() as connection:
            found = [row for change in writes[key] for row in store.write(connection, *change)]
        return {"results": found}

    write.__annotations__["asked"] = model
    return write


def main() -> None:
    """Serve the database in the first argument on the listening socket whose descriptor is the second argument."""
    database, descriptor, specification = sys.argv[1:]
    app = application(TableStore(database), json.loads(Path(specification).read_text()))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    server.run(sockets=[socket.socket(fileno=int(descriptor))])


if __name__ == "__main__":
    main()
