"""The client's side of a process that runs a benchmark under its own interpreter.

A process serves many episodes and runs one request after another. If it hangs or dies, it is ended with everything that
it started. All its episodes are then void, and the next episode gets a new process.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import IO, Any

from palaestra.benchmarks.external.benchmark import Benchmark
from palaestra.benchmarks.external.installation import require_installed
from palaestra.benchmarks.external.shape import ANSWERS, misfit
from palaestra.errors import ConfigError, InfrastructureError, WaitError
from palaestra.records import Json

_PROGRAM = Path(__file__).with_name("serve.py")
_START = 300.0
"""Maximum seconds for a benchmark to load."""
_LOOK = 1.0
"""Seconds between checks whether a process that does not answer is still alive."""
_SHOWN = 1_500
"""Characters of a process's last error output that an error quotes."""
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "JAVA_HOME", "DISPLAY")
"""The environment variables that a benchmark's process gets: no keys, no settings of Python."""


class BenchmarkProcess:
    """One process. Calls from several threads take turns.

    Args:
        benchmark: The benchmark.
        options: The options for its server.

    Raises:
        ConfigError: the benchmark is not installed, or an option is not JSON.
        InfrastructureError: it does not start.
        WaitError: it does not start in time.
    """

    def __init__(self, benchmark: Benchmark, options: Mapping[str, Json]) -> None:
        found = require_installed(benchmark.name, benchmark.installation)
        told = _json(benchmark.name, {**options, "checkout": str(found.checkout) if found.checkout else None})
        self.name = benchmark.name
        self.episodes = 0
        """That are open in it."""
        self.lost: str | None = None
        """Why it can do nothing more, if it cannot."""
        self._numbers = count()
        self._lock = threading.Lock()
        self._folder = tempfile.mkdtemp(prefix=f"palaestra-{benchmark.name}-")
        self._said: IO[bytes] = (Path(self._folder) / "stderr").open("w+b")
        self._left = bytearray()
        self._process = subprocess.Popen(  # noqa: S603  our own program, under the interpreter that was installed for it
            # Not -I, which would ignore the setting for repeatable hashes of text.
            [str(found.python), "-s", "-P", str(_PROGRAM), str(benchmark.root), benchmark.served_module, told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            bufsize=0,
            env=_environment(self._folder),
            start_new_session=True,  # a browser or a virtual machine below it ends with it
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        os.set_blocking(self._in.fileno(), False)
        with self._lock:
            self._answer("start", _START)

    def number(self) -> int:
        """A number for a new episode."""
        return next(self._numbers)

    def ask(self, do: str, *, seconds: float, **request: Any) -> Any:
        """Send a request and wait for the answer.

        Args:
            do: The name of the request.
            seconds: Maximum seconds, once it has begun.
            request: The fields of the request. Any: JSON, both ways.

        Raises:
            InfrastructureError: the benchmark raised, its answer is invalid, or its process is gone.
            WaitError: it took too long, and the process was ended.
        """
        line = json.dumps({"do": do, **request}).encode() + b"\n"
        with self._lock:
            if self.lost is not None:
                raise InfrastructureError(f"{self.name}: {do}: {self.lost}")
            try:
                return self._answer(do, seconds, line)
            except InfrastructureError:
                raise
            except BaseException:  # the answer may still come, and would be taken for that of another request
                self._end(f"{do} was interrupted, and its process ended")
                raise

    def _answer(self, do: str, seconds: float, request: bytes = b"") -> Any:
        until = time.monotonic() + seconds
        self._write(do, seconds, until, request)
        line = self._line(do, seconds, until)
        try:
            answer = json.loads(line)
            error = answer.get("error")
        except (ValueError, AttributeError):
            self._end(f"it wrote what is no answer to {do}, and its process was ended")
            raise InfrastructureError(f"{self.name}: {do}: {self.lost}: {line[:80]!r}") from None
        if error is None:
            if wrong := misfit(answer["ok"], ANSWERS[do], do):
                raise InfrastructureError(f"{self.name}: {wrong}; a benchmark that answers so is at fault")
            return answer["ok"]
        fault = InfrastructureError(f"{self.name}: {do}: {error['said']}; a benchmark that raises is at fault")
        fault.add_note(f"in its own process:\n{error['where']}")
        raise fault

    def _write(self, do: str, seconds: float, until: float, request: bytes) -> None:
        left = memoryview(request)
        while left:
            self._wait(self._in, select.POLLOUT, do, seconds, until)
            try:
                left = left[self._in.write(left) or 0 :]
            except OSError as error:
                raise self._explain_loss(do) from error

    def _line(self, do: str, seconds: float, until: float) -> bytes:
        while not self._left.endswith(b"\n"):  # one answer to one request: nothing follows it
            self._wait(self._out, select.POLLIN, do, seconds, until)
            more = os.read(self._out.fileno(), 1 << 20)
            if not more:
                raise self._explain_loss(do)
            self._left += more
        line = bytes(self._left)
        self._left.clear()
        return line

    def _wait(self, stream: IO[bytes], event: int, do: str, seconds: float, until: float) -> None:
        """Wait until there is something to read, or room to write."""
        poller = select.poll()
        poller.register(stream.fileno(), event)
        while not poller.poll(1000 * max(0.0, min(_LOOK, until - time.monotonic()))):
            if self._process.poll() is not None:  # a child process may still hold the pipe
                raise self._explain_loss(do)
            if time.monotonic() >= until:
                self._end(f"it was ended because {do} took more than {seconds:g} s")
                raise WaitError(f"{self.name}: waited {seconds:g} s for {do}; its process was ended and is replaced")

    def _explain_loss(self, do: str) -> InfrastructureError:
        if self.lost is not None:  # another thread ended it
            return InfrastructureError(f"{self.name}: {do}: {self.lost}")
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LOOK)
        code = self._process.poll()
        how = "closed its pipes" if code is None else f"ended with exit code {code}"
        self._said.seek(0)
        last = self._said.read()[-_SHOWN:].decode(errors="replace").strip()
        self._end(f"its process {how}")
        # A traceback ends with the error; the rest is only for repairing the benchmark.
        words = last.splitlines()[-1] if "Traceback (most recent call last)" in last else last
        fault = InfrastructureError(f"{self.name}: {do}: its process {how}: {words or 'no words'}")
        fault.add_note(f"in its own process:\n{last}")
        return fault

    def close(self, why: str = "it was closed") -> None:
        """End the process and all its children. Closing twice is allowed; a running request is answered with `why`."""
        if self.lost is not None:
            return
        self.lost = why
        _kill(self._process)
        with self._lock:
            self._free()

    def _end(self, why: str) -> None:
        """Like `close`, from within a request."""
        if self.lost is None:
            self.lost = why
            _kill(self._process)
            self._free()

    def forget(self) -> None:
        """Leave the process to the program from which this one was forked."""
        self._lock = threading.Lock()
        if self.lost is None:
            self.lost = "it belongs to the process that this one was forked from"
            self._process.returncode = 0  # not ours to wait for
            for stream in (self._in, self._out, self._said):
                stream.close()

    def _free(self) -> None:
        for stream in (self._in, self._out, self._said):
            stream.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _json(name: str, options: Mapping[str, Any]) -> str:
    try:
        return json.dumps(options, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"an option of {name} is nothing that JSON holds: {error}; give text, numbers or lists"
        ) from None


def _environment(folder: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {"PYTHONHASHSEED": "0", "TMPDIR": folder}


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a process and all its descendants, including those in their own process session."""
    below = _below(process.pid)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in below:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _below(pid: int) -> list[int]:
    """All descendants of a process."""
    found = list[int]()
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, listed.read_text().split()):
                found += [child, *_below(child)]
    return found


class BenchmarkProcesses:
    """The benchmark processes of this program, by benchmark and options."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most or os.cpu_count() or 1
        self._begin()

    def _begin(self) -> None:
        self._workers: dict[str, list[BenchmarkProcess]] = {}
        self._starting: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def borrow(self, benchmark: Benchmark, options: Mapping[str, Json]) -> BenchmarkProcess:
        """A process for another episode: a new one while there are few, then the one with the fewest episodes.

        Raises:
            ConfigError: the benchmark is not installed, or an option is not JSON.
            InfrastructureError: a new process does not start.
        """
        key = _json(benchmark.name, {"": benchmark.name, **dict(sorted(options.items()))})
        with self._lock:
            starting = self._starting.setdefault(key, threading.Lock())
        with starting:  # giving back is not blocked while a process of this benchmark starts
            if (free := self._free(key)) is not None:
                return free
            worker = BenchmarkProcess(benchmark, options)
            worker.episodes = 1
            with self._lock:
                self._workers[key].append(worker)
            return worker

    def _free(self, key: str) -> BenchmarkProcess | None:
        with self._lock:
            alive = [worker for worker in self._workers.get(key, []) if worker.lost is None]
            self._workers[key] = alive
            free = min(alive, key=lambda worker: worker.episodes, default=None)
            if free is None or (free.episodes and len(alive) < self._most):
                return None
            free.episodes += 1
            return free

    def give_back(self, worker: BenchmarkProcess) -> None:
        """Return the process of an episode that is over."""
        with self._lock:
            worker.episodes -= 1

    def close(self) -> None:
        """End every process."""
        with self._lock:
            workers = [worker for some in self._workers.values() for worker in some]
            self._workers = {}
        for worker in workers:
            worker.close()

    def forget(self) -> None:
        """Begin anew in a forked process: the processes here belong to the one it was forked from."""
        workers = [worker for some in self._workers.values() for worker in some]
        self._begin()
        for worker in workers:
            worker.forget()
