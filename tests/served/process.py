"""`palaestra serve` as a process of its own, as users start it."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import worlds

_ROOT = Path(worlds.__file__).parents[1]


class ServerProcess:
    """A server that listens on a free port.

    Attributes:
        url: Where it listens.
        process: The process.
    """

    def __init__(self, *arguments: str, log: Path) -> None:
        self.log = log
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "palaestra", "serve", "--port", "0", *arguments],
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, sys.path)])},
            )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), log.read_text()

    def stop(self) -> int:
        """Ask it to stop; its exit status."""
        self.process.terminate()
        return self.wait()

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.wait()

    def wait(self) -> int:
        """Wait until it has ended; its exit status."""
        status = self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


@contextmanager
def run_server(*arguments: str, log: Path) -> Generator[ServerProcess]:
    """A server that is ended when the block is left, if it has not ended before."""
    server = ServerProcess(*arguments, log=log)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()
