"""Death within a process: at the n-th operation that changes the disk, and nothing happens afterwards."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

CHANGING = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.truncate")


class Killed(BaseException):
    """The process died here."""


class Killer:
    """How many operations are left to live; `None` is for ever."""

    left: int | None = None
    installed = False


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if Killer.left is None:
        return
    writes = event == "open" and (
        set(arguments[1] or "") & set("wax+") or (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR)
    )
    if event in CHANGING or writes:
        if Killer.left <= 0:
            raise Killed
        Killer.left -= 1


@contextmanager
def killed_after(operations: int) -> Generator[None]:
    """The block dies when it begins one operation more."""
    if not Killer.installed:  # an audit hook stays for good
        sys.addaudithook(_on_event)
        Killer.installed = True
    Killer.left = operations
    try:
        yield
    finally:
        Killer.left = None
