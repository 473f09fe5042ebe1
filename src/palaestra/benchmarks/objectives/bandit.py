"""A contextual bandit: one turn, one token."""

from dataclasses import dataclass

from palaestra.benchmarks.objectives.toy import Choose, ToyEpisode, ToyTurn
from palaestra.seeding import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandit:
    """A contextual bandit.

    - State: the context, which is the task.
    - Actions: which arm to pull.
    - Reward: 1 with a chance of `good` in a hundred for the best arms of the context, of `other` for all else.
    - End: after one turn.
    - Success: one of the best arms was pulled, whatever it paid.
    - Best arms: arm `1 + 3 context` (modulo the arms), and, with `modes` 2, the one behind it, which is just as good.
    - Seeds: the world's stream decides what an arm pays, and nothing else.
    """

    tasks: int = 4
    arms: int = 4
    modes: int = 1
    """How many arms tie for the best."""
    good: int = 100
    """The chance of being paid, in a hundred."""
    other: int = 0
    """And with any other arm."""
    name: str = "bandit"

    def __post_init__(self) -> None:
        if not 1 <= self.modes < self.arms:
            raise ValueError(f"modes={self.modes}: some arms are best and some are not; there are {self.arms}")

    @property
    def sizes(self) -> tuple[int, ...]:
        """See `Toy`."""
        return (self.arms,) * self.tasks

    def play(self, task: int, choose: Choose, luck: Stream) -> ToyEpisode:
        """See `Toy`."""
        arm = choose(task)
        good = (arm - self.best(task)) % self.arms < self.modes
        paid = luck.chance(self.good if good else self.other)
        hope = (self.good if good else self.other) / max(self.good, self.other)
        turn = ToyTurn(states=(task,), actions=(arm,), reward=float(paid), anchor=task, good=good, hope=hope)
        return ToyEpisode(task=task, turns=(turn,), passed=paid, success=good)

    def best(self, state: int) -> int:
        """See `Toy`."""
        return (1 + 3 * state) % self.arms
