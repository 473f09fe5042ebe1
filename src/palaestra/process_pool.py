"""Pools of processes that end with the process that made them, however it ends.

A worker of `ProcessPoolExecutor` alone waits for ever for work from a process that was killed.
"""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from threading import Thread
from typing import Any


def process_pool(
    jobs: int, *, initializer: Callable[..., object] | None = None, initargs: tuple[Any, ...] = ()
) -> ProcessPoolExecutor:
    """A pool of processes that are started afresh: a forked torch waits for threads that it has not.

    Args:
        jobs: How many processes.
        initializer: What each of them does first.
        initargs: What it is given.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(initializer, initargs))


def _begin(initializer: Callable[..., object] | None, initargs: tuple[Any, ...]) -> None:
    end_with_parent()
    if initializer is not None:
        initializer(*initargs)


def end_with_parent() -> None:
    """End this process, which `multiprocessing` started, as soon as the one that started it has ended."""
    Thread(target=_wait_and_end, name="watch of the parent process", daemon=True).start()


def _wait_and_end() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "this process was started by another one"
    parent.join()
    os._exit(1)
