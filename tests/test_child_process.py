"""A process at the other end of a socket: it answers, it ends with the socket, and its end is described."""

import asyncio
import socket
import sys

import pytest

from palaestra.child_process import ChildProcess, describe_exit
from palaestra.errors import InfrastructureError

_SECONDS = 60


def echo(descriptor: int) -> None:
    """Send back what comes, until the other end closes."""
    with socket.socket(fileno=descriptor) as link:
        while data := link.recv(1024):
            link.sendall(data)


def test_it_answers_and_ends_with_the_socket() -> None:
    async def main() -> int:
        child = await ChildProcess.start(f"{__name__}:echo")
        child.writer.write(b"hello")
        assert await asyncio.wait_for(child.reader.readexactly(5), _SECONDS) == b"hello"
        child.writer.close()
        return await child.reap(_SECONDS)

    assert asyncio.run(main()) == 0


def test_one_that_does_not_end_is_killed() -> None:
    async def main() -> int:
        child = await ChildProcess.start(f"{__name__}:echo")
        code = await child.reap(0.1)  # the socket is open until then
        child.writer.close()
        return code

    assert describe_exit(asyncio.run(main())) == "SIGKILL"


def test_a_program_that_there_is_not_ends_and_closes_the_socket(capfd: pytest.CaptureFixture[str]) -> None:
    async def main() -> int:
        child = await ChildProcess.start("palaestra.no_such_module:serve")
        assert await asyncio.wait_for(child.reader.read(), _SECONDS) == b""
        child.writer.close()
        return await child.reap(_SECONDS)

    assert describe_exit(asyncio.run(main())) == "exit code 1"
    assert "no_such_module" in capfd.readouterr().err


def test_a_process_that_cannot_be_started_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(InfrastructureError, match="no worker process can be started"):
        asyncio.run(ChildProcess.start(f"{__name__}:echo"))
