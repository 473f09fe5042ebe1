"""The thin edge between callers that wait and code that is asynchronous."""

import asyncio
import os
from collections.abc import Coroutine
from functools import cache
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")
_ONE_LOOP = Lock()
"""Of callers in several threads that come first at once, one makes the loop."""


def run_in_thread(work: Coroutine[Any, Any, T]) -> T:
    """What `work` comes to, on an event loop of its own in a thread of its own, so that any caller may wait.

    A caller that is interrupted cancels it.
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
