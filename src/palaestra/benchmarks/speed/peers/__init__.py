"""Other people's environments, measured where they are installed, by adapters that are imported only then."""

from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from palaestra.benchmarks.speed.stopwatch import Stopwatch

INSTALLATION: dict[str, str] = {
    "tau2": "not installed; tau2-bench installs from a checkout of its repository",
    "verifiers": "not installed: pip install 'verifiers==0.1.14'",
}
"""What to do about a peer that is not there."""

PEERS = tuple(INSTALLATION)
"""The packages that this folder has an adapter of the same name for."""


class Adapter(Protocol):
    """What a peer's module here offers."""

    def unfit(self) -> str:
        """Why the installed version cannot be measured, in words; empty where it can."""
        ...

    def measure(self, watch: Stopwatch, tasks: int) -> None:
        """Time the peer on that many of its tasks."""
        ...


def adapter(peer: str) -> Adapter | str:
    """What measures `peer`, or why nothing can."""
    if find_spec(peer) is None:
        return INSTALLATION[peer]
    found = cast("Adapter", import_module(f"{__name__}.{peer}"))
    return found.unfit() or found


__all__ = ["INSTALLATION", "PEERS", "Adapter", "adapter"]
