"""Death and faults within a process: at the n-th operation that changes the disk."""

import os
import resource
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch

CHANGING = frozenset({"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.truncate"})


class Killed(BaseException):
    """The process died here."""


_listeners: list[Callable[[], None]] = []
"""Who is told before each operation; nobody most of the time."""


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if not _listeners:
        return
    writes = event == "open" and (
        set(arguments[1] or "") & set("wax+") or (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
    )
    if event in CHANGING or writes:
        _listeners[-1]()


@contextmanager
def watched(listener: Callable[[], None]) -> Generator[None]:
    """Call `listener` before each operation of the block that changes the disk; what it raises, the block sees."""
    _install()
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.pop()


@cache
def _install() -> None:
    sys.addaudithook(_on_event)  # it stays for good


@contextmanager
def killed_after(operations: int) -> Generator[None]:
    """The block dies when it begins one operation more, and nothing happens afterwards."""
    left = operations

    def count() -> None:
        nonlocal left
        if left <= 0:
            raise Killed
        left -= 1

    with watched(count):
        yield


@contextmanager
def failing_at(operation: int, number: int, *, for_good: bool) -> Generator[Callable[[], bool]]:
    """Operation number `operation` of the block, fsyncs counted, fails with the system's error `number`.

    Args:
        operation: From 0.
        number: Such as `errno.ENOSPC`.
        for_good: Whether each one after it fails too.

    Yields:
        Whether the block came as far as that.
    """
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        if done == operation + 1 or (for_good and done > operation):
            raise OSError(number, os.strerror(number))

    def failing_fsync(descriptor: int) -> None:
        del descriptor
        count()

    with patch.object(os, "fsync", failing_fsync), watched(count):
        yield lambda: done > operation


@contextmanager
def files_of_at_most(size: int) -> Generator[None]:
    """A write that goes beyond is cut short, and the next one fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
