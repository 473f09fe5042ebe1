"""Processor time and memory of processes and their children, as Linux reports them."""

import os
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pids: Sequence[int]) -> float:
    """Processor seconds of the processes and their children, in whole ticks."""
    stats = (Path(f"/proc/{pid}/stat").read_text() for pid in _with_children(pids))
    fields = (stat.rpartition(")")[2].split() for stat in stats)
    return sum(int(one[11]) + int(one[12]) for one in fields) / _TICKS


def resident_bytes(pids: Sequence[int]) -> int:
    """Resident bytes of the processes and their children."""
    pages = (Path(f"/proc/{pid}/statm").read_text().split()[1] for pid in _with_children(pids))
    return sum(map(int, pages)) * resource.getpagesize()


def _with_children(pids: Sequence[int]) -> Iterator[str]:
    """The ids of the processes and of the processes that their main threads started."""
    for pid in pids:
        yield str(pid)
        yield from Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
