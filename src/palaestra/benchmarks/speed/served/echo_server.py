"""Measures OpenEnv's server with an echo environment; OpenEnv's client plays it in a Python environment of its own."""

import json
import socket
import subprocess
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from palaestra.benchmarks.speed.processes import processor_seconds, resident_bytes
from palaestra.benchmarks.speed.served.figures import ServedSample, ServedScale
from palaestra.errors import InfrastructureError

NAME = "OpenEnv echo"
_PROGRAM = Path(__file__).with_name("echo_program.py")
_WAIT = 60.0
"""Seconds after which an unresponsive server is given up."""


def reason_absent(python: Path) -> str:
    """The reason why an interpreter cannot run OpenEnv; empty where it can."""
    if not python.is_file():
        return f"there is no {python}; `make peers` installs it, and --openenv-python names another interpreter"
    asked = [str(python), "-c", "import openenv.core"]
    if subprocess.run(asked, capture_output=True, check=False).returncode != 0:  # noqa: S603  the caller's interpreter
        return f"{python} has no openenv-core; `make peers` installs it"
    return ""


def time_echo(python: Path, scale: ServedScale) -> Iterator[ServedSample]:
    """Play several numbers of concurrent sessions, on one server and on as many as Palaestra's server has workers.

    Raises:
        InfrastructureError: a server or the client does not start, or exits.
    """
    for servers in sorted({1, max(1, *scale.workers)}):
        for sessions in scale.echo_sessions:
            if sessions >= servers:
                yield _time_sessions(python, servers, sessions, scale.seconds)


def _time_sessions(python: Path, servers: int, sessions: int, seconds: float) -> ServedSample:
    with ExitStack() as stack:
        started = [stack.enter_context(_start(python, sessions)) for _ in range(servers)]
        pids, urls = [pid for pid, _ in started], [url for _, url in started]
        for url in urls:
            httpx.get(f"{url}/health", timeout=_WAIT, trust_env=False).raise_for_status()
        before = resident_bytes(pids)
        command = [str(python), str(_PROGRAM), "play", str(sessions), str(seconds), *urls]
        client = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        )
        stack.callback(client.kill)
        assert client.stdin is not None
        assert client.stdout is not None
        _read(client.stdout.readline())
        weight, spent = (resident_bytes(pids) - before) / sessions, processor_seconds(pids)
        client.stdin.write("\n")
        client.stdin.flush()
        found = json.loads(_read(client.stdout.readline()))
        return ServedSample(
            name=NAME,
            workers=servers,
            sessions=sessions,
            batch=1,
            steps=found["steps"],
            wall_seconds=found["seconds"],
            processor_seconds=processor_seconds(pids) - spent,
            session_bytes=weight,
            is_peer=True,
        )


def _read(line: str) -> str:
    if not line:
        raise InfrastructureError("OpenEnv's client ended early; what it wrote on standard error says why")
    return line


@contextmanager
def _start(python: Path, sessions: int) -> Generator[tuple[int, str]]:
    with socket.create_server(("127.0.0.1", 0), backlog=1_024) as listening:
        descriptor, address = listening.fileno(), listening.getsockname()
        process = subprocess.Popen(  # noqa: S603  our own program
            [str(python), str(_PROGRAM), "serve", str(descriptor), str(sessions)], pass_fds=[descriptor]
        )
    try:
        yield process.pid, f"http://{address[0]}:{address[1]}"
    finally:
        process.kill()
        process.wait()
