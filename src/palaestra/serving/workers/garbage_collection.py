"""How often Python looks for cyclic garbage in a process that holds sessions."""

import gc
from collections.abc import Generator
from contextlib import contextmanager

COLLECT_AFTER = 50_000
"""New objects after which a collection begins. The items of a large batch are a few thousand objects at once, which
exceeds Python's default and starts a collection; that took up to a sixth of a step. Sessions hold no cycles, so closed
sessions are freed without a collection."""


@contextmanager
def collect_rarely() -> Generator[None]:
    """Collect garbage rarely in this process during the block."""
    former = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER, *former[1:])
    try:
        yield
    finally:
        gc.set_threshold(*former)
