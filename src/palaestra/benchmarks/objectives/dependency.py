"""Two turns: the second turn decides whether the first was good."""

from dataclasses import dataclass

from palaestra.benchmarks.objectives.toy import Choose, ToyEpisode, ToyTurn
from palaestra.seeding import Stream

SAFE, BOLD = 0, 1
"""The actions of the first turn."""
KEY = 1
"""The action that must follow a bold turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """Two turns.

    - State: 0 in the first turn; in the second turn 1 after a safe first turn and 2 after a bold one.
    - Actions: safe or bold; then one of `keys`.
    - Reward: `safe` after a safe first turn, whatever follows; after a bold one, 1 for the right key and 0 otherwise. A
      policy that guesses the key earns more with safe; a policy that knows the key earns more with bold.
    - End: after two turns.
    - Success: bold, followed by the right key.
    - Seeds: none; the world is deterministic.
    """

    keys: int = 3
    safe: float = 0.5
    tasks: int = 1
    name: str = "dependency"

    @property
    def sizes(self) -> tuple[int, ...]:
        """See `Toy`."""
        return (2, self.keys, self.keys)

    def play(self, task: int, choose: Choose, luck: Stream) -> ToyEpisode:
        """See `Toy`."""
        del luck
        first = choose(0)
        place = 1 if first == SAFE else 2
        second = choose(place)
        success = first == BOLD and second == KEY
        paid = self.safe if first == SAFE else float(success)
        hope = self.safe if first == SAFE else 1.0
        turns = (
            ToyTurn(states=(0,), actions=(first,), anchor=0, good=first == BOLD, hope=hope),
            ToyTurn(states=(place,), actions=(second,), reward=paid, anchor=place, good=success, hope=paid),
        )
        return ToyEpisode(task=task, turns=turns, passed=success, success=success)

    def best(self, state: int) -> int:
        """See `Toy`."""
        return BOLD if state == 0 else KEY
