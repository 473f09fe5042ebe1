"""The program under a benchmark's own interpreter, which reads requests from one pipe and writes answers to another.

It is started as a file, `python serve.py ROOT MODULE OPTIONS`, and does not need Palaestra installed: `MODULE` is found
below `ROOT`, and the packages above it are registered without running their `__init__`. A request is a line of JSON,
`{"do": ..., ...}`, and so is its answer, `{"ok": value}` or `{"error": {"said": ..., "where": ...}}`. Output of a
benchmark goes to standard error.

When its standard input closes, it ends with everything that it started, even in the middle of a request.
"""

import importlib
import json
import os
import select
import shutil
import signal
import sys
import threading
import traceback
import types
from pathlib import Path
from typing import IO, Any

_OWN = "palaestra-"
"""The prefix of the folder that the starting process gave to this one."""


def _register_packages(root: Path, module: str) -> None:
    """Make `module` importable by its full name without running the packages above it."""
    folder, name = root, ""
    for part in module.split(".")[:-1]:
        folder /= part
        name = f"{name}.{part}" if name else part
        if name not in sys.modules:
            package = types.ModuleType(name)
            package.__path__ = [str(folder)]
            sys.modules[name] = package


class Server:
    """A benchmark and its running episodes. Any: JSON, and the benchmark's own objects."""

    def __init__(self, bench: Any) -> None:
        self._bench = bench
        self._sessions: dict[int, Any] = {}

    def answer(self, request: dict[str, Any]) -> Any:
        """Run a request."""
        do = request.pop("do")
        if do == "version":
            return self._bench.version()
        if do == "tasks":
            return self._bench.tasks()
        number = request.pop("episode")
        if do == "begin":
            self._end(number)
            self._sessions[number] = self._bench.begin(**request)
            return self._sessions[number].opening()
        if do == "close":
            return self._end(number)
        return getattr(self._sessions[number], do)(**request)

    def _end(self, number: int) -> None:
        if session := self._sessions.pop(number, None):
            session.close()


def _write(answer: dict[str, Any]) -> bytes:
    """A line of JSON that every reader accepts: lone surrogates become question marks, and infinities are refused."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"


def _answer_line(server: Server, line: bytes) -> bytes:
    try:
        return _write({"ok": server.answer(json.loads(line))})
    except (Exception, SystemExit) as error:  # errors of a benchmark are reported as its faults
        said = f"{type(error).__name__}: {error}"
        return _write({"error": {"said": said, "where": traceback.format_exc()}})


def _end() -> None:
    """End this process and its children, and remove its folder, since the other side may have been killed.

    Threads of a browser or a virtual machine do not delay the end.
    """
    own = Path(os.environ.get("TMPDIR", ""))
    if own.name.startswith(_OWN):
        shutil.rmtree(own, ignore_errors=True)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _watch(requests: int) -> None:
    """Wait until the other side is gone. It may have been killed while a request is still running."""
    poller = select.poll()
    poller.register(requests, 0)  # the loss of a pipe's other end is reported in any case
    poller.poll()
    _end()


def main(root: str, module: str, options: str) -> None:
    """Serve until the other side is gone."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    threading.Thread(target=_watch, args=[requests.fileno()], daemon=True).start()
    _register_packages(Path(__file__).resolve().parents[3], "palaestra.benchmarks.external.protocol")
    _register_packages(Path(root), module)
    server = Server(importlib.import_module(module).bench(json.loads(options)))
    _serve(server, requests, answers)
    _end()


def _serve(server: Server, requests: IO[bytes], answers: IO[bytes]) -> None:
    answers.write(_write({"ok": "ready"}))
    answers.flush()
    for line in requests:
        answers.write(_answer_line(server, line))
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
