"""The first program of the server's image: `start.py COMMAND...` is `palaestra COMMAND...` with what a container adds.

- `serve` and `dashboard` take the keys of the state folder and then listen on all addresses of the container. Without
  keys they listen on its loopback interface, which nothing outside the container reaches.
- The password of the record's database comes from a file, and goes to the database client alone.
- SIGTERM also ends a process that is still starting. The first process of a container ignores it otherwise.
- `health [PORT [PATH]]` asks the server in the same container, for Docker's health check.
"""

import os
import signal
import sys
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import FrameType
from typing import NoReturn

STATE = Path(os.environ.get("PALAESTRA_STATE", "/var/lib/palaestra"))
KEYS = STATE / "keys.json"
RECORD = "PALAESTRA_RECORD"
PASSWORD_FILE = "PALAESTRA_DATABASE_PASSWORD_FILE"  # noqa: S105  the name of a variable
PASSWORD = "PGPASSWORD"  # noqa: S105  the variable that the database client reads
HEALTH = ("8765", "/v1/health")
LISTENING = frozenset({"serve", "dashboard"})
RECORDING = frozenset({"dashboard", "record"})


def fail(message: str) -> NoReturn:
    """End with a sentence for people."""
    print(f"error: {message}", file=sys.stderr)  # noqa: T201
    sys.exit(1)


def end(number: int, frame: FrameType | None) -> NoReturn:
    """End before anything was begun that could be lost."""
    del number, frame
    sys.exit(0 if sys.argv[1:2] and sys.argv[1] in LISTENING else 128 + signal.SIGTERM)


def read_password(path: Path) -> str:
    """The password in a file, without the end of its line."""
    try:
        text = path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{PASSWORD_FILE}={path}: cannot be read ({error}); give a file that user {os.getuid()} may read")
    if not text or "\n" in text:
        fail(f"{PASSWORD_FILE}={path}: has to hold the password in one line; there is no default password")
    return text


def set_password() -> None:
    """Put the password of the record's database where its client reads it."""
    if RECORD not in os.environ:
        fail(f"{RECORD} is not set; give the URL of the record, such as postgresql://palaestra@database/palaestra")
    if file := os.environ.get(PASSWORD_FILE):
        os.environ[PASSWORD] = read_password(Path(file))
    elif "://" in os.environ[RECORD] and not os.environ.get(PASSWORD):
        fail(f"neither {PASSWORD_FILE} nor {PASSWORD} is set; there is no default password")


def listening_arguments() -> list[str]:
    """Where to listen, by whether there are keys."""
    if KEYS.exists():
        return ["--host", "0.0.0.0", "--keys", str(KEYS)]  # noqa: S104  what a container publishes is its user's choice
    print(  # noqa: T201
        f"no keys in {KEYS}: only programs in this container can connect; make a key with "
        f"`palaestra keys add {KEYS} OWNER --scope play`, and start the container again",
        file=sys.stderr,
    )
    return []


def check_health(port: int, path: str) -> int:
    """The exit status that says whether a server answers well."""
    connection = HTTPConnection("127.0.0.1", port, timeout=4)
    try:
        connection.request("GET", path)
        return 0 if connection.getresponse().status == 200 else 1
    except (OSError, HTTPException) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return 1
    finally:
        connection.close()


def main() -> None:
    """Run a command."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command == "health":
        given = sys.argv[2:4]
        port, path = [*given, *HEALTH[len(given) :]]
        sys.exit(check_health(int(port), path))
    signal.signal(signal.SIGTERM, end)
    if command in RECORDING:
        set_password()
    if command in LISTENING:
        sys.argv[2:2] = listening_arguments()
    sys.argv[0] = "palaestra"
    from palaestra.cli import main as run_command  # noqa: PLC0415  signals are to be handled before this takes time

    run_command()


if __name__ == "__main__":
    main()
