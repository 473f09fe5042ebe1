"""A bound on what one call may take, in processor time of this process: a machine that others load changes nothing."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from palaestra.tools.wire import glimpse


class DeadlineError(BaseException):
    """What ran under `within` took too long. No `except Exception` on the way takes it for something else."""


@contextmanager
def within(seconds: float, what: object) -> Generator[None]:
    """Raise `DeadlineError`, out of whatever hangs, where the block takes more than `seconds`."""

    def late(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise DeadlineError(f"more than {seconds} s of processor time: {glimpse(what, 200)}")

    before = signal.signal(signal.SIGPROF, late)
    # It strikes again: Python drops what is raised inside a callback of the garbage collector.
    signal.setitimer(signal.ITIMER_PROF, seconds, seconds / 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
