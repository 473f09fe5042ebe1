"""Closing frees everything, in mid-episode too, and may be done twice."""

import gc
import threading
from collections import Counter
from pathlib import Path

from palaestra.envs.check.subject import Subject

_FILES = Path("/proc/self/fd")
_TASKS = Path("/proc/self/task")


def check_closing(subject: Subject) -> None:
    """After `close` in mid-episode no thread, child process or open file is left; a second `close` is fine.

    Files and child processes are counted where the system has /proc.
    """
    before = _count_held()
    env = subject.make()
    env.reset(seed=subject.seeds[0])
    env.step([])
    env.close()
    try:
        env.close()
    except Exception as error:
        raise subject.fault(
            f"the second close raised {error!r}",
            "closing twice is fine",
            "Let close return when all is freed",
        ) from error
    if left := _count_held() - before:
        raise subject.fault(
            f"after close there is still: {', '.join(sorted(left))}",
            "close frees every thread, process and file, also in mid-episode",
            "Free them in close",
        )
    del env


def _count_held() -> Counter[str]:
    """The threads, child processes and open files of this process, in words."""
    gc.collect()
    held = Counter(f"thread {thread.name}" for thread in threading.enumerate())
    for children in _TASKS.glob("*/children"):
        held.update(f"child process {child}" for child in children.read_text().split())
    for file in _FILES.glob("*"):
        try:
            held[f"open file {file.readlink()}"] += 1
        except OSError:  # the listing's own handle is gone again
            continue
    return held
