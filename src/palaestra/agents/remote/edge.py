"""The synchronous interface to asynchronous code."""

import asyncio
import os
from collections.abc import Coroutine
from functools import cache
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")
_ONE_LOOP = Lock()
"""Protects the creation of the loop against several threads."""


def run_in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop in a separate thread and return its result.

    If the caller is interrupted, the coroutine is cancelled.
    """
    with _ONE_LOOP:
        loop = _loop(os.getpid())
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


@cache
def _loop(process: int) -> asyncio.AbstractEventLoop:
    """The loop of this process: a forked child has none of its parent's threads."""
    del process
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="palaestra-remote", daemon=True).start()
    return loop
