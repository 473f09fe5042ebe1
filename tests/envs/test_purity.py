"""What the watcher of `check_env` hears, asked directly: no tracer sees into a profiler while it runs."""

import datetime
import os
import random
import sys
import threading
import time
from typing import Any

import pytest

from palaestra.envs.check import purity


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (time.time, "time.time"),
        (time.monotonic_ns, "time.monotonic_ns"),
        (os.urandom, "posix.urandom"),
        (random.random, "random.random"),
        (datetime.datetime.now, "datetime.now"),
        (datetime.date.today, "date.today"),
        (random.Random(1).random, None),  # noqa: S311
        (len, None),
        (datetime.date.fromisoformat, None),
    ],
)
def test_clocks_entropy_and_the_global_generator_are_forbidden_and_own_generators_are_not(
    function: object, name: str | None
) -> None:
    assert purity._forbidden(function) == name


@pytest.mark.parametrize(
    ("arguments", "writes"),
    [
        (("x", "r", 0), False),
        (("x", "rb", os.O_RDONLY), False),
        (("x", "w", 0), True),
        (("x", "r+", 0), True),
        (("x", None, os.O_WRONLY | os.O_CREAT), True),
        (("x", None, None), False),
    ],
)
def test_only_opening_for_writing_is_writing(arguments: tuple[Any, ...], writes: bool) -> None:
    assert purity._writes(arguments) is writes


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    heard: list[str] = []
    monkeypatch.setattr(purity._Ear, "heard", heard)
    return heard


def test_a_forbidden_call_is_heard_with_its_place_and_a_tolerated_module_is_not(heard: list[str]) -> None:
    frame = sys._getframe()
    purity._on_call(frame, "c_call", time.time)
    purity._on_call(frame, "c_return", time.time)
    purity._on_call(frame, "c_call", len)
    assert len(heard) == 1
    assert heard[0].startswith(f"time.time ({__file__}:")
    frame.f_globals["__name__"], name = "sqlalchemy.engine", __name__
    try:
        purity._on_call(frame, "c_call", time.time)
    finally:
        frame.f_globals["__name__"] = name
    assert len(heard) == 1


def test_audit_events_are_heard_from_the_thread_under_check_alone(
    heard: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    purity._on_event("socket.connect", ("x",))
    assert heard == []
    monkeypatch.setattr(purity._Ear, "thread", threading.get_ident())
    purity._on_event("socket.connect", ("x",))
    purity._on_event("import", ("x",))
    purity._on_event("open", ("x", "r", 0))
    purity._on_event("open", ("x", "w", 0))
    assert [text.partition(" ")[0] for text in heard] == ["socket.connect", "open"]


def test_a_place_in_the_standard_library_is_told_as_its_caller_s(heard: list[str]) -> None:
    del heard
    frames = list(map(lambda _: sys._getframe(), [None]))  # noqa: C417  a frame of its own
    assert purity._place(frames[0]).startswith(__file__)
    assert purity._place(None) == "?"
