"""Training runs in processes that can be killed: the side that starts them, waits for them and kills them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import orjson

from palaestra.records import Json

TESTS = Path(__file__).parents[1]
IMPORTS = os.pathsep.join([str(TESTS), *sys.path])


class Nursery:
    """Training runs in processes of their own, one at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lines: Queue[bytes] = Queue()
        Thread(target=self._listen, daemon=True).start()
        self.said: list[str] = []
        self.seconds = 0.0
        """That the last run lived for, as far as it was waited for."""

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

    def _told(self, timeout: float) -> tuple[str, Json]:
        what, value = orjson.loads(self._lines.get(timeout=timeout))
        return what, value

    def run(self, line: str | Path, *, killed_after: float | None = None) -> Json:
        """What the run that `line` asks for comes to; `None` where it was killed before."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()
        began, child = self._told(timeout=120)
        assert began == "began"
        assert isinstance(child, int)
        born = time.monotonic()
        result: Json = None
        while True:
            left = 120.0 if killed_after is None else max(0.0, born + killed_after - time.monotonic())
            try:
                what, value = self._told(timeout=left)
            except Empty:
                assert killed_after is not None, "a run hangs"
                with suppress(ProcessLookupError):  # it may have ended just now, with the news still under way
                    os.kill(child, signal.SIGKILL)
                killed_after = None
                continue
            if what == "said":
                self.said.append(str(value))
            elif what == "done":
                result, killed_after = value, None
                self.seconds = time.monotonic() - born
            else:
                assert what == "ended"
                assert value == signal.SIGKILL or result is not None
                return result


@contextmanager
def nursery(module: str) -> Generator[Nursery]:
    """A process that runs `module`, which forks a run for each line."""
    environment = {**os.environ, "PYTHONPATH": IMPORTS, "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", module],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield Nursery(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
