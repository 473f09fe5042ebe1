"""Processor time and memory of processes and their descendants, as Linux reports them."""

import os
import resource
from collections.abc import Iterator, Sequence
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds(pids: Sequence[int]) -> float:
    """Processor seconds of the processes and their descendants, in whole ticks."""
    stats = (Path(f"/proc/{pid}/stat").read_text() for pid in _with_descendants(pids))
    fields = (stat.rpartition(")")[2].split() for stat in stats)
    return sum(int(one[11]) + int(one[12]) for one in fields) / _TICKS


def resident_bytes(pids: Sequence[int]) -> int:
    """Resident bytes of the processes and their descendants."""
    pages = (Path(f"/proc/{pid}/statm").read_text().split()[1] for pid in _with_descendants(pids))
    return sum(map(int, pages)) * resource.getpagesize()


def _with_descendants(pids: Sequence[int]) -> Iterator[int]:
    """The ids of the processes and of those that their threads started, and so on."""
    for pid in pids:
        yield pid
        for task in Path(f"/proc/{pid}/task").iterdir():
            yield from _with_descendants([int(child) for child in (task / "children").read_text().split()])
