"""Which processes there are, as Linux tells."""

from collections.abc import Generator
from pathlib import Path


def group(leader: int) -> set[int]:
    """The living processes of the group that `leader` leads or led."""
    return {pid for pid, its_group, state in _processes() if its_group == leader and state != "Z"}


def _processes() -> Generator[tuple[int, int, str]]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield int(stat.parent.name), int(its_group), state
