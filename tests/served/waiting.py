"""Waiting for what another thread or process does, without a fixed time."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds, up to a minute."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)
