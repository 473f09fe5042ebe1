"""The program that runs under a benchmark's own interpreter: requests come in on one pipe, answers go out on another.

It is started as a file, `python -I serve.py MODULE OPTIONS`, and needs nothing of Palaestra's installed: the packages
above `MODULE` are made known by their folders alone, and their `__init__` is never run. A request is a line of JSON,
`{"do": ..., ...}`, and so is its answer, `{"ok": value}` or `{"error": {"kind": ..., "said": ...}}`. Whatever a
benchmark prints goes to standard error.
"""

import importlib
import json
import os
import sys
import traceback
import types
from pathlib import Path
from typing import IO, Any


def _made_known(module: str) -> None:
    """Let `module` be imported by its full name without running what stands above it."""
    folder = Path(__file__).resolve().parents[3]
    name = ""
    for part in module.split(".")[:-1]:
        folder /= part
        name = f"{name}.{part}" if name else part
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package


class Server:
    """A benchmark and the episodes that are under way in it. Any: JSON, and the benchmark's own objects."""

    def __init__(self, bench: Any) -> None:
        self._bench = bench
        self._sessions: dict[int, Any] = {}

    def answer(self, request: dict[str, Any]) -> Any:
        """Do what `request` says."""
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


def _serve(server: Server, requests: IO[bytes], answers: IO[bytes]) -> None:
    for line in requests:
        try:
            answer = {"ok": server.answer(json.loads(line))}
        except Exception as error:  # whatever a benchmark does wrong is told, and is its fault
            said = f"{type(error).__name__}: {error}"
            answer = {"error": {"kind": type(error).__name__, "said": said, "where": traceback.format_exc()}}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def main(module: str, options: str) -> None:
    """Serve until nobody asks any more."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    _made_known(module)
    server = Server(importlib.import_module(module).bench(json.loads(options)))
    answers.write(b'{"ok": "ready"}\n')
    answers.flush()
    _serve(server, requests, answers)
    os._exit(0)  # threads of a browser or a virtual machine keep nobody


if __name__ == "__main__":
    main(*sys.argv[1:])
