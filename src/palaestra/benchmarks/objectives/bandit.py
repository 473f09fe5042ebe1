"""A contextual bandit: an episode has one turn of one token."""

from dataclasses import dataclass

from palaestra.benchmarks.objectives.toy import Choose, ToyEpisode, ToyTurn
from palaestra.seeding import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandit:
    """A contextual bandit.

    - State: the context, which is the task.
    - Actions: the number of an arm.
    - Reward: 1 with a probability of `good` per cent for the best arms of the context, of `other` per cent for all
      others.
    - End: after one turn.
    - Success: the chosen arm is one of the best, whatever the reward.
    - Best arms: arm `1 + 3 context` (modulo the number of arms), and, with `modes` 2, also the next arm, which is
      equally good.
    - Seeds: the world's stream decides only the reward of an arm.
    """

    tasks: int = 4
    arms: int = 4
    modes: int = 1
    """Number of equally good best arms."""
    good: int = 100
    """Probability of a reward for a best arm, in per cent."""
    other: int = 0
    """Probability of a reward for any other arm, in per cent."""
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
