"""Keys and values of idle trajectories, which wait for their worlds.

The longest idle is dropped first when room is needed.
"""

from collections.abc import Iterable

from palaestra.trainers.engines.native.pages import PagedMemory
from palaestra.trainers.engines.native.prefixes import Holding, Prefixes


class IdleKVCache:
    """Idle holdings, in the order of their last use.

    Args:
        prefixes: The index from which dropped holdings are removed.
        memory: The memory to which their pages return.
    """

    def __init__(self, prefixes: Prefixes, memory: PagedMemory) -> None:
        self._prefixes = prefixes
        self._memory = memory
        self._holdings: dict[str, Holding] = {}
        self._pages = 0
        """The number of pages of all holdings; shared pages count for each."""
        self.tokens = 0
        """The number of held tokens."""

    def put(self, holding: Holding) -> None:
        """Keep a trajectory's holding until its next turn or until room is needed."""
        self._holdings[holding.trajectory] = holding
        self.tokens += holding.held
        self._pages += len(holding.pages)

    def take(self, trajectory: str) -> Holding | None:
        """Remove and return the trajectory's holding, for its next turn."""
        holding = self._holdings.pop(trajectory, None)
        if holding is not None:
            self.tokens -= holding.held
            self._pages -= len(holding.pages)
        return holding

    def drop(self, trajectory: str) -> None:
        """Drop the holding of a trajectory that has ended."""
        holding = self.take(trajectory)
        if holding is not None:
            self._prefixes.remove(holding)
            self._memory.release(holding.pages)

    def make_room(self, tokens: int) -> None:
        """Drop the longest idle holdings until the others have at most this many places."""
        while self._pages * self._memory.places > tokens:
            self.drop(next(iter(self._holdings)))

    def held(self, trajectories: Iterable[str]) -> int:
        """The number of tokens held for these trajectories."""
        return sum(self._holdings[name].held for name in set(trajectories) & self._holdings.keys())

    def seal(self) -> None:
        """After a change of weights: stop sharing the holdings with other trajectories."""
        for holding in self._holdings.values():
            self._prefixes.remove(holding)
            holding.private = True
