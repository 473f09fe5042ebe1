"""What is held for trajectories that no turn is drawn for: they wait for their worlds.

The longest unused goes first when room is wanted.
"""

from collections.abc import Iterable

from palaestra.trainers.engines.native.pages import PagedMemory
from palaestra.trainers.engines.native.prefixes import Holding, Prefixes


class IdleKVCache:
    """Idle holdings, in the order of their last use.

    Args:
        prefixes: From which dropped holdings are removed.
        memory: To which their pages return.
    """

    def __init__(self, prefixes: Prefixes, memory: PagedMemory) -> None:
        self._prefixes = prefixes
        self._memory = memory
        self._holdings: dict[str, Holding] = {}
        self._pages = 0
        """Of all of them; one that several share counts for each."""
        self.tokens = 0
        """Held by all of them."""

    def put(self, holding: Holding) -> None:
        """Keep what is held for a trajectory, until its next turn or until room is wanted."""
        self._holdings[holding.trajectory] = holding
        self.tokens += holding.held
        self._pages += len(holding.pages)

    def take(self, trajectory: str) -> Holding | None:
        """What is held for the trajectory, for its next turn."""
        holding = self._holdings.pop(trajectory, None)
        if holding is not None:
            self.tokens -= holding.held
            self._pages -= len(holding.pages)
        return holding

    def drop(self, trajectory: str) -> None:
        """The trajectory has ended."""
        holding = self.take(trajectory)
        if holding is not None:
            self._prefixes.remove(holding)
            self._memory.release(holding.pages)

    def make_room(self, tokens: int) -> None:
        """Drop what was longest unused until the pages of the others have at most so many places."""
        while self._pages * self._memory.places > tokens:
            self.drop(next(iter(self._holdings)))

    def held(self, trajectories: Iterable[str]) -> int:
        """Tokens held for these."""
        return sum(self._holdings[name].held for name in set(trajectories) & self._holdings.keys())

    def seal(self) -> None:
        """The weights have changed: what is held is its own trajectory's alone."""
        for holding in self._holdings.values():
            self._prefixes.remove(holding)
            holding.private = True
