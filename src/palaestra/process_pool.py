"""Pools of processes that end with the process that made them, however it ends.

Workers of a plain `ProcessPoolExecutor` wait forever for work if the process that made them was killed.
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
    """A pool of fresh processes. A forked torch would wait for threads that do not exist in the child.

    Args:
        jobs: The number of processes.
        initializer: A function that each process calls first.
        initargs: Its arguments.
    """
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(initializer, initargs))


def _begin(initializer: Callable[..., object] | None, initargs: tuple[Any, ...]) -> None:
    end_with_parent()
    if initializer is not None:
        initializer(*initargs)


def end_with_parent() -> None:
    """Make this process, which `multiprocessing` started, end as soon as its parent has ended."""
    Thread(target=_wait_and_end, name="watch of the parent process", daemon=True).start()


def _wait_and_end() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "this process was started by another one"
    parent.join()
    os._exit(1)
