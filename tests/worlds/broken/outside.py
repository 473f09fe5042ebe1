"""Broken in what they touch outside of themselves, and in what they leave behind."""

import io
import random
import secrets
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import numpy as np

from palaestra.envs.env import ToolEnv
from worlds.broken.late import Late, Stepped
from worlds.library import LIBRARY

SINK = Path(gettempdir()) / "palaestra-impure.txt"


def _connect() -> None:
    with socket.socket() as opened:
        opened.settimeout(1)


def _write() -> None:
    SINK.write_text("written")


def _spawn() -> None:
    subprocess.run(["true"], check=True)


IMPURE: Mapping[str, Callable[[], object]] = {
    "time.time": time.time,
    "time.perf_counter": time.perf_counter,
    "datetime.now": datetime.now,
    "datetime.today": datetime.today,
    "date.today": date.today,
    "random.random": random.random,
    "random.getrandbits": lambda: random.randint(1, 6),  # noqa: S311
    "posix.urandom": uuid.uuid4,
    "posix.urandom ": lambda: secrets.token_hex(4),
    "socket.": _connect,
    "subprocess.": _spawn,
    "open ": _write,
    "global generator": lambda: np.random.rand(),  # noqa: NPY002, PLW0108
}


class Impure(Late):
    def __init__(self, env_id: str, *, act: str, **kwargs: Any) -> None:
        super().__init__(env_id, **kwargs)
        self._act = act

    def spoilt(self, stepped: Stepped) -> Stepped:
        IMPURE[self._act]()
        return stepped


def _populated_by_clock(seed: int, rules: object) -> Any:
    time.time()
    return LIBRARY.populate(seed, rules)


CLOCKWORK = replace(LIBRARY, populate=_populated_by_clock)

HELD: list[Any] = []
"""What leaking environments leave behind; a test frees it."""
RELEASE = threading.Event()


def release() -> None:
    """Free what leaking environments hold."""
    RELEASE.set()
    for held in HELD:
        if isinstance(held, threading.Thread):
            held.join()
        elif isinstance(held, subprocess.Popen):
            held.kill()
            held.wait()
        else:
            held.close()
    HELD.clear()
    RELEASE.clear()


def _thread() -> threading.Thread:
    thread = threading.Thread(target=RELEASE.wait, name="leaked", daemon=True)
    thread.start()
    return thread


LEAKS: Mapping[str, Callable[[], object]] = {
    "thread leaked": _thread,
    "child process": lambda: subprocess.Popen(["sleep", "60"]),
    "open file": lambda: io.FileIO(__file__),
}


class Leaky(ToolEnv):
    def __init__(self, env_id: str, *, leak: str, **kwargs: Any) -> None:
        super().__init__(env_id, **kwargs)
        HELD.append(LEAKS[leak]())


class ClosesOnce(ToolEnv):
    def close(self) -> None:
        if self._episode is None:
            raise RuntimeError("closed already")
        super().close()
