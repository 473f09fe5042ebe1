"""A PostgreSQL server of the tests' own, in a temporary folder, reached over a socket in it.

PostgreSQL refuses to run as root; where tests do, it runs as another user of the machine.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

MISSING = (
    "the tests of the record need PostgreSQL; as root: apt-get install --no-install-recommends postgresql "
    "(`make test` does so)"
)
_USER = "palaestra"


class PostgresServer:
    """A server that has no data yet.

    Raises:
        RuntimeError: PostgreSQL is not installed.
    """

    def __init__(self) -> None:
        self._programs = _programs()
        self._folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._as: dict[str, Any] = _other_user()  # Any: arguments of subprocess
        if self._as:
            shutil.chown(self._folder, self._as["user"], self._as["group"])
        self._numbers = count()
        self._process: subprocess.Popen[Any] | None = None
        arguments = ("-D", "data", "-U", _USER, "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8")
        subprocess.run(
            [self._programs / "initdb", *arguments], cwd=self._folder, check=True, capture_output=True, **self._as
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(self._programs / "postgres", "-D", "data", "-k", str(self._folder), "-h", ""),
                    *("-c", "max_connections=60", "-c", "shared_buffers=16MB"),
                ],
                cwd=self._folder,
                stdout=log,
                stderr=log,
                **self._as,
            )
        for _ in range(600):
            try:
                psycopg.connect(self._url("postgres")).close()
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self._folder / "log").read_text()
                time.sleep(0.1)
            else:
                return
        raise RuntimeError((self._folder / "log").read_text())

    def crash(self) -> None:
        """End it at once, without a checkpoint; the next start recovers from its log."""
        self._end(signal.SIGQUIT)

    def remove(self) -> None:
        """End it and remove its data, which nobody needs to be written back."""
        self.crash()
        shutil.rmtree(self._folder)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=60)
            self._process = None

    def new_database(self) -> str:
        """The URL of a new, empty database."""
        name = f"record{next(self._numbers)}"
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return self._url(name)

    def _url(self, database: str) -> str:
        return f"postgresql://{_USER}@/{database}?host={self._folder}"


def _programs() -> Path:
    """The folder of PostgreSQL's programs; Debian keeps them off the path."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not folders:
        raise RuntimeError(MISSING)
    return folders[-1].parent


def _other_user() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
