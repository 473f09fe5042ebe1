"""One episode on the server: its process, its copy of the database, and calls over a persistent connection."""

import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from palaestra.errors import InfrastructureError
from palaestra.records import JsonObject

PROGRAM = Path(__file__).with_name("program.py")
"""The server of the Storefront's tools."""
GENERATED_PROGRAM = PROGRAM.with_name("generated_program.py")
"""The server of any world, generated from its tools."""
_WAIT = 60.0
"""Seconds after which an unresponsive server is given up."""


class ServerProcess:
    """A server process with a database of its own. Leaving the block ends the process.

    Args:
        database: The initial SQLite file; it is copied.
        argument: The last argument of the program, such as the day on which the episode begins.
        program: The program of the server.
    """

    def __init__(self, database: Path, argument: str, program: Path = PROGRAM) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="palaestra-bench-")
        copied = shutil.copy(database, self._folder.name)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            # The socket is already listening when the server gets it. The first request waits in the queue, so nothing
            # polls, and no other program can take the port in between.
            descriptor, address = listening.fileno(), listening.getsockname()
            self._process = subprocess.Popen(  # noqa: S603  our own program
                [sys.executable, str(program), copied, str(descriptor), argument],
                pass_fds=[descriptor],
            )
        self._client = httpx.Client(base_url=f"http://{address[0]}:{address[1]}", timeout=_WAIT, trust_env=False)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def ready(self) -> None:
        """Wait until the server answers."""
        self._client.get("/openapi.json").raise_for_status()

    def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """Call a tool and return its answer.

        Raises:
            InfrastructureError: the server refuses the call, or the answer is not an object.
        """
        response = self._client.post(f"/{tool}", json=arguments)
        if not response.is_success:
            raise InfrastructureError(f"the server refuses {tool} {arguments}: {response.status_code} {response.text}")
        answer: JsonObject = response.json()
        return answer

    def resident_bytes(self) -> int | None:
        """Resident bytes of the process; `None` where the system does not report them."""
        statm = Path(f"/proc/{self._process.pid}/statm")
        return int(statm.read_text().split()[1]) * resource.getpagesize() if statm.exists() else None

    def processor_ns(self) -> int | None:
        """Processor nanoseconds of the process; `None` where the system does not report them."""
        statistics = Path(f"/proc/{self._process.pid}/schedstat")
        return int(statistics.read_text().split()[0]) if statistics.exists() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()
