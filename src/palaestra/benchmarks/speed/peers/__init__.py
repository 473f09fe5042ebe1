"""Adapters that measure environments of other projects; an adapter is imported only where its peer is installed."""

from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from palaestra.benchmarks.speed.stopwatch import Stopwatch

INSTALLATION: dict[str, str] = {
    "tau2": "not installed; tau2-bench installs from a checkout of its repository",
    "verifiers": "not installed: pip install 'verifiers==0.1.14'",
}
"""Instructions for installing a missing peer."""

PEERS = tuple(INSTALLATION)
"""The packages for which this folder has an adapter module of the same name."""


class Adapter(Protocol):
    """The interface of a peer's module in this folder."""

    def unfit(self) -> str:
        """The reason why the installed version cannot be measured; empty where it can."""
        ...

    def measure(self, watch: Stopwatch, tasks: int) -> None:
        """Time the peer on `tasks` of its tasks."""
        ...


def adapter(peer: str) -> Adapter | str:
    """The adapter of `peer`, or the reason why it cannot be measured."""
    if find_spec(peer) is None:
        return INSTALLATION[peer]
    found = cast("Adapter", import_module(f"{__name__}.{peer}"))
    return found.unfit() or found


__all__ = ["INSTALLATION", "PEERS", "Adapter", "adapter"]
