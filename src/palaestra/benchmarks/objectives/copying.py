"""A word to be copied: one turn of several tokens, all of which have to be right."""

from dataclasses import dataclass

from palaestra.benchmarks.objectives.toy import Choose, ToyEpisode, ToyTurn
from palaestra.seeding import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Copying:
    """A word to be copied.

    - State: the task, whose word it is, and the place in the word.
    - Actions: a letter.
    - Reward: 1 with a chance of `good` in a hundred if all letters are right, of `other` if not.
    - End: after one turn of `length` tokens.
    - Success: all letters are right, whatever it paid; somebody who guesses has `letters ** -length`.
    - Seeds: the world's stream decides what a word pays, and nothing else.
    """

    tasks: int = 4
    length: int = 3
    letters: int = 3
    good: int = 100
    """The chance of being paid for the right word, in a hundred."""
    other: int = 0
    """And for any other."""
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
