"""What is held for trajectories that no turn is drawn for: they wait for their worlds, or have ended and may be of use.

The longest unused goes first when room is wanted, and what belongs to ended trajectories before anything else.
"""

from collections.abc import Iterator

from palaestra.trainers.engines.native.prefixes import Holding, Prefixes


class Shelf:
    """Idle holdings, in the order of their last use.

    Args:
        prefixes: Told of what leaves.
    """

    def __init__(self, prefixes: Prefixes) -> None:
        self._prefixes = prefixes
        self._owned: dict[str, Holding] = {}
        self._ended: dict[Holding, None] = {}
        self.tokens = 0
        """Held by all of them."""

    def __iter__(self) -> Iterator[Holding]:
        yield from self._ended
        yield from self._owned.values()

    def put(self, holding: Holding) -> None:
        """Keep what is held for a trajectory, until its next turn or until room is wanted."""
        self._owned[holding.trajectory] = holding
        self.tokens += holding.held

    def peek(self, trajectory: str) -> int:
        """Tokens held for the trajectory."""
        holding = self._owned.get(trajectory)
        return 0 if holding is None else holding.held

    def take(self, trajectory: str) -> Holding | None:
        """What is held for the trajectory, for its next turn."""
        holding = self._owned.pop(trajectory, None)
        if holding is not None:
            self.tokens -= holding.held
        return holding

    def end(self, trajectory: str) -> None:
        """The trajectory has ended; what others can share stays until room is wanted."""
        holding = self._owned.pop(trajectory, None)
        if holding is None:
            return
        if holding.private:
            self.tokens -= holding.held
        else:
            self._ended[holding] = None

    def make_room(self, tokens: int) -> None:
        """Drop what was longest unused until at most so many tokens are held."""
        while self.tokens > tokens:
            holding = next(iter(self))
            if holding in self._ended:
                del self._ended[holding]
            else:
                del self._owned[holding.trajectory]
            self.tokens -= holding.held
            self._prefixes.remove(holding)

    def touch(self, holding: Holding) -> None:
        """An ended trajectory's holding was of use once more."""
        if holding in self._ended:
            del self._ended[holding]
            self._ended[holding] = None

    def seal(self) -> None:
        """The weights have changed: each holding is its own trajectory's alone now, and nobody's if that ended."""
        for holding in self._ended:
            self.tokens -= holding.held
        self._ended.clear()
        for holding in self._owned.values():
            holding.private = True
