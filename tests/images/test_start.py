"""images/server/start.py: keys decide where a server listens, a password is never a default, SIGTERM ends a start."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from palaestra.serving.access import KeyScope, make_key, with_keys, write_keys

ROOT = Path(__file__).parents[2]
START = ROOT / "images" / "server" / "start.py"
URL = "postgresql://palaestra@127.0.0.1:1/palaestra"


def command(*arguments: str) -> list[str]:
    return [sys.executable, str(START), *arguments]


def environment(state: Path, **variables: str) -> dict[str, str]:
    """What a container has, with this source."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("PALAESTRA_", "PG"))}
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)])
    return {**mine, "PYTHONPATH": path, "PALAESTRA_STATE": str(state), **variables}


def run(*arguments: str, state: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(*arguments),
        env=environment(state, **variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def serve(state: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command("serve", "--port", "0"),
        env=environment(state),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read"),
        (b"", "in one line"),
        (b"\n", "in one line"),
        (b"two\nlines\n", "in one line"),
        (b"\xff\n", "cannot be read"),
    ],
)
def test_a_password_that_is_missing_or_none_is_an_error(content: bytes | None, why: str, tmp_path: Path) -> None:
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
    for name in ("dashboard", "record"):
        done = run(name, "list", state=tmp_path, PALAESTRA_RECORD=URL, PALAESTRA_DATABASE_PASSWORD_FILE=str(file))
        assert (done.returncode, done.stdout) == (1, "")
        assert str(file) in done.stderr
        assert why in done.stderr
        assert "Traceback" not in done.stderr


def test_without_a_password_there_is_no_default(tmp_path: Path) -> None:
    done = run("record", "list", state=tmp_path, PALAESTRA_RECORD=URL)
    assert done.returncode == 1
    assert "there is no default password" in done.stderr


def test_without_a_record_there_is_no_default(tmp_path: Path) -> None:
    done = run("record", "list", state=tmp_path)
    assert done.returncode == 1
    assert "PALAESTRA_RECORD is not set" in done.stderr


def test_the_password_reaches_the_client_alone(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("pass-of-the-test\r\n")
    done = run("record", "list", state=tmp_path, PALAESTRA_RECORD=URL, PALAESTRA_DATABASE_PASSWORD_FILE=str(file))
    assert done.returncode == 1
    assert "127.0.0.1" in done.stderr, "nobody listens there"
    assert "pass-of-the-test" not in done.stderr + done.stdout


def test_keys_decide_where_a_server_listens_and_it_ends_well(tmp_path: Path) -> None:
    for has_keys, address in ((False, "http://127.0.0.1:"), (True, "http://0.0.0.0:")):
        if has_keys:
            _, key = make_key("anna", [KeyScope.PLAY], now=0.0, lifetime=None)
            write_keys(tmp_path / "keys.json", with_keys(None, [key]))
        server = serve(tmp_path)
        assert server.stdout is not None
        listens = server.stdout.readline().strip()
        port = listens.rpartition(":")[2]
        healthy = run("health", port, "/v1/health", state=tmp_path).returncode
        absent = run("health", port, "/v1/nothing", state=tmp_path).returncode
        server.send_signal(signal.SIGTERM)
        _, log = server.communicate(timeout=60)
        assert server.returncode == 0
        assert listens.startswith(address)
        assert (healthy, absent) == (0, 1)
        assert ("no keys in" in log) == (not has_keys)
        assert '"event":"stopped"' in log


def test_sigterm_ends_a_server_that_is_starting(tmp_path: Path) -> None:
    server = serve(tmp_path)
    assert server.stderr is not None
    assert "no keys in" in server.stderr.readline()
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=60)
    assert server.returncode == 0


def test_where_nobody_listens_nothing_is_healthy(tmp_path: Path) -> None:
    done = run("health", "1", state=tmp_path)
    assert done.returncode == 1
    assert "ConnectionRefusedError" in done.stderr
