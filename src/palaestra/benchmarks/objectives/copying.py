"""Copying a word: one turn of several tokens, all of which must be right."""

from dataclasses import dataclass

from palaestra.benchmarks.objectives.toy import Choose, ToyEpisode, ToyTurn
from palaestra.seeding import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Copying:
    """Copying a word.

    - State: the task, which determines the word, and the position in the word.
    - Actions: a letter.
    - Reward: 1 with a probability of `good` per cent if all letters are right, otherwise of `other` per cent.
    - End: after one turn of `length` tokens.
    - Success: all letters are right, whatever the reward; a random policy has `letters ** -length`.
    - Seeds: the world's stream decides only the reward of a word.
    """

    tasks: int = 4
    length: int = 3
    letters: int = 3
    good: int = 100
    """Probability of a reward for the right word, in per cent."""
    other: int = 0
    """Probability of a reward for any other word, in per cent."""
    name: str = "copying"

    @property
    def sizes(self) -> tuple[int, ...]:
        """See `Toy`."""
        return (self.letters,) * (self.tasks * self.length)

    def play(self, task: int, choose: Choose, luck: Stream) -> ToyEpisode:
        """See `Toy`."""
        states = tuple(range(task * self.length, (task + 1) * self.length))
        actions = tuple(map(choose, states))
        right = all(action == self.best(state) for state, action in zip(states, actions, strict=True))
        paid = luck.chance(self.good if right else self.other)
        hope = (self.good if right else self.other) / max(self.good, self.other)
        turn = ToyTurn(states=states, actions=actions, reward=float(paid), anchor=task, good=right, hope=hope)
        return ToyEpisode(task=task, turns=(turn,), passed=paid, success=right)

    def best(self, state: int) -> int:
        """See `Toy`."""
        task, place = divmod(state, self.length)
        return (task + 2 * place + task * place) % self.letters
