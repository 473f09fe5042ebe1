"""A process that runs a benchmark under its own interpreter, seen from here.

A process serves many episodes and does one request after the other. One that hangs, or dies, is ended; every episode in
it is void then, and whoever begins another one gets a fresh process.
"""

import os
import select
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO, Any

import orjson

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import required
from palaestra.errors import InfrastructureError, WaitError
from palaestra.records import Json

_PROGRAM = Path(__file__).with_name("serve.py")
_START = 300.0
"""Seconds that a benchmark may take to load."""
_SHOWN = 1_500
"""Characters of what a process last wrote to standard error that an error quotes."""


class Worker:
    """One process. Calls from several threads take turns.

    Args:
        benchmark: Which benchmark.
        options: What its server is told.

    Raises:
        ConfigError: the benchmark is not installed.
        InfrastructureError: it does not start.
        WaitError: it does not start in time.
    """

    def __init__(self, benchmark: Benchmark, options: Mapping[str, Json]) -> None:
        found = required(benchmark.name, benchmark.installation)
        self.name = benchmark.name
        self.episodes = 0
        """That are open in it."""
        self.lost: str | None = None
        """Why it can do nothing more, if it cannot."""
        self._numbers = count()
        self._lock = threading.Lock()
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the process
        told = {**options, "checkout": str(found.checkout) if found.checkout else None}
        self._process = subprocess.Popen(  # noqa: S603  our own program, under the interpreter that was installed for it
            [str(found.python), "-I", str(_PROGRAM), benchmark.served, orjson.dumps(told).decode()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=_environment(),
            start_new_session=True,  # a browser or a virtual machine below it ends with it
        )
        self._left = b""
        with self._lock:
            self._answer("start", _START)

    def number(self) -> int:
        """A number for a new episode."""
        return next(self._numbers)

    def ask(self, do: str, *, seconds: float, **request: Any) -> Any:
        """Have something done, and wait for it.

        Args:
            do: What.
            seconds: What it may take, once it is begun.
            request: With what. Any: JSON, both ways.

        Raises:
            InfrastructureError: the benchmark raised, or its process is gone.
            WaitError: it took too long, and was ended.
        """
        with self._lock:
            if self.lost is not None:
                raise InfrastructureError(f"{do}: {self.lost}")
            assert self._process.stdin is not None
            try:
                self._process.stdin.write(orjson.dumps({"do": do, **request}) + b"\n")
                self._process.stdin.flush()
            except OSError as error:
                raise self._gone(do) from error
            return self._answer(do, seconds)

    def _answer(self, do: str, seconds: float) -> Any:
        line = self._line(do, seconds)
        answer = orjson.loads(line)
        if "error" not in answer:
            return answer["ok"]
        error = answer["error"]
        fault = InfrastructureError(f"{self.name}: {do}: {error['said']}; a benchmark that raises is at fault")
        fault.add_note(f"in its own process:\n{error['where']}")
        raise fault

    def _line(self, do: str, seconds: float) -> bytes:
        assert self._process.stdout is not None
        out = self._process.stdout.fileno()
        while b"\n" not in self._left[-65536:]:
            ready, _, _ = select.select([out], [], [], seconds)
            if not ready:
                self.close(f"{self.name} was ended because {do} took more than {seconds:g} s")
                raise WaitError(f"{self.name}: waited {seconds:g} s for {do}; its process was ended and is replaced")
            more = os.read(out, 1 << 20)
            if not more:
                raise self._gone(do)
            self._left += more
        line, _, self._left = self._left.partition(b"\n")
        return line

    def _gone(self, do: str) -> InfrastructureError:
        code = self._process.wait()
        self._said.seek(0)
        last = self._said.read()[-_SHOWN:].decode(errors="replace").strip()
        self.close(f"the process of {self.name} ended with exit code {code}")
        return InfrastructureError(f"{self.name}: {do}: its process ended with exit code {code}: {last or 'no words'}")

    def close(self, why: str = "it was closed") -> None:
        """End the process and all that it started. Closing twice is fine."""
        if self.lost is not None:
            return
        self.lost = why
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            if stream is not None:
                with suppress(OSError):  # for what was not written any more
                    stream.close()


def _environment() -> dict[str, str]:
    """What a benchmark's process may know of this one's environment: no keys, no settings of Python's."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "JAVA_HOME", "DISPLAY")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"PYTHONHASHSEED": "0"}


class Workers:
    """The processes of this one, by benchmark and options."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most or os.cpu_count() or 1
        self._workers: dict[bytes, list[Worker]] = {}
        self._lock = threading.Lock()

    def borrow(self, benchmark: Benchmark, options: Mapping[str, Json]) -> Worker:
        """A process with room for another episode: a new one while there are few, then the one with the fewest."""
        key = orjson.dumps([benchmark.name, dict(options)], option=orjson.OPT_SORT_KEYS)
        with self._lock:
            alive = [worker for worker in self._workers.get(key, []) if worker.lost is None]
            self._workers[key] = alive
            free = min(alive, key=lambda worker: worker.episodes, default=None)
            if free is None or (free.episodes and len(alive) < self._most):
                free = Worker(benchmark, options)
                alive.append(free)
            free.episodes += 1
            return free

    def give_back(self, worker: Worker) -> None:
        """An episode is over, and its process free for another."""
        with self._lock:
            worker.episodes -= 1

    def close(self) -> None:
        """End every process."""
        with self._lock:
            for workers in self._workers.values():
                for worker in workers:
                    worker.close()
            self._workers.clear()
