"""No wall clock, no entropy, no global randomness, no network, no process, no file written: watched as it happens.

Covered: calls of C functions from the thread under check (through `sys.setprofile`) and what Python's audit events
report. Not covered: what a C extension does by itself, and other threads (which `check_closing` finds).
"""

import datetime
import gc
import os
import random
import sys
import sysconfig
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any, cast

import numpy as np

from palaestra.envs.check.subject import Subject, apply, describe_operation, replay
from palaestra.envs.env import ToolEnv
from palaestra.envs.instance import instantiate

_CLOCKS = (
    time.time, time.time_ns, time.monotonic, time.monotonic_ns, time.perf_counter, time.perf_counter_ns,
    time.process_time, time.process_time_ns, time.thread_time, time.localtime, time.gmtime, time.ctime, time.sleep,
    os.urandom, *((os.getrandom,) if hasattr(os, "getrandom") else ()),
)  # fmt: skip
_NAMES = {id(function): f"{function.__module__}.{function.__name__}" for function in _CLOCKS}
_NOW = frozenset({"now", "today", "utcnow"})
_RNG = cast("random.Random", vars(random)["_inst"])
_EVENTS = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "urllib.",
           "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "shutil.")  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# It times its own compilation of statements, which no result depends on.
_TOLERATED = "sqlalchemy."
_STANDARD = sysconfig.get_path("stdlib")


class _Ear:
    """Where the audit hook writes; a hook can never be removed, so there is one, and it is switched by this."""

    installed = False
    thread: int | None = None
    heard: list[str] = []  # noqa: RUF012  shared on purpose


def check_purity(subject: Subject) -> None:
    """Making a task, resetting, stepping and snapshotting touch nothing outside the environment."""
    for walk in subject.walks:
        env = subject.make()
        for _ in replay(env, walk.operations):  # imports and caches are filled now, not under watch
            pass
        for operation in walk.operations:
            with _watch(subject, f"{describe_operation(operation)}, snapshot or digest"):
                apply(env, operation)
                env.snapshot()
        with _watch(subject, f"making {env.task.id}"):
            _make_again(env)


def _make_again(env: ToolEnv) -> None:
    """Populate the world anew and make the present task in it."""
    world = replace(env.world)
    instantiate(world, env.task_set.families[env.task.family], int(env.task.id.rpartition("/")[2]))


@contextmanager
def _watch(subject: Subject, doing: str) -> Generator[None]:
    before = _global_randomness()
    with _listening() as heard:
        yield
    if heard:
        raise subject.fault(
            f"{doing} used {heard[0]}",
            "a world knows no wall clock, entropy, global randomness, network, process or written file",
            "Use the context's clock and a named stream of palaestra.seeding",
        )
    if _global_randomness() != before:
        raise subject.fault(
            f"{doing} moved the global generator of random or numpy",
            "a world draws from its own streams",
            "Use a named stream of palaestra.seeding",
        )


def _global_randomness() -> tuple[object, ...]:
    state = np.random.get_state(legacy=False)  # noqa: NPY002  it is what is watched
    return random.getstate(), state["state"]["key"].tobytes(), state["state"]["pos"]


@contextmanager
def _listening() -> Generator[list[str]]:
    if not _Ear.installed:
        sys.addaudithook(_on_event)
        _Ear.installed = True
    _Ear.heard, previous, collecting = [], sys.getprofile(), gc.isenabled()
    gc.disable()  # a collection may run other people's finalizers
    _Ear.thread = threading.get_ident()
    sys.setprofile(_on_call)
    try:
        yield _Ear.heard
    finally:
        sys.setprofile(previous)
        _Ear.thread = None
        if collecting:
            gc.enable()


def _on_call(frame: FrameType, event: str, function: object) -> None:
    if event != "c_call":
        return
    name = _forbidden(function)
    if name and not str(frame.f_globals.get("__name__")).startswith(_TOLERATED):
        _Ear.heard.append(f"{name} ({_place(frame)})")


def _forbidden(function: object) -> str | None:
    """The name of a C function that no world may call."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    if owner is _RNG:
        return f"random.{name}"
    if name in _NOW and isinstance(owner, type) and issubclass(owner, datetime.date):
        return f"{owner.__name__}.{name}"
    return _NAMES.get(id(function))


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if _Ear.thread != threading.get_ident():
        return
    if event.startswith(_EVENTS) or (event == "open" and _writes(arguments)):
        _Ear.heard.append(f"{event} {arguments!r:.80} ({_place(sys._getframe(1))})")


def _writes(arguments: tuple[Any, ...]) -> bool:
    _, mode, flags = arguments
    return bool(set(mode or "") & set("wax+")) or bool((flags or 0) & _WRITING)


def _place(frame: FrameType | None) -> str:
    """File and line of the nearest code that is not the standard library's."""
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(_STANDARD):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "?"
