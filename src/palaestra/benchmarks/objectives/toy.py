"""What a toy is: a world of a few states, whose episodes are played out in microseconds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from palaestra.seeding import Stream

Choose: TypeAlias = Callable[[int], int]
"""Says which action is taken in a state; each answer is a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyTurn:
    """A turn: what was written in it, and what came of it."""

    states: tuple[int, ...]
    """In which each token was drawn."""
    actions: tuple[int, ...]
    """What was drawn."""
    parts: tuple[str, ...] = ()
    """What each token is part of, as in `palaestra.trainers.data.batch.PARTS`; nothing where there are none."""
    reward: float = 0.0
    anchor: int = 0
    """What the world showed before the turn, as a number."""
    good: bool = True
    """Whether a judge who knows the toy would call the turn good."""
    hope: float = 1.0
    """The greatest return that can still come, afterwards, as a share of the toy's greatest."""
    switch: bool = False
    """Whether it began a new subgoal."""
    goal: int = 0
    """Its subgoal, as a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyEpisode:
    """An episode."""

    task: int
    turns: tuple[ToyTurn, ...]
    passed: bool
    """Whether the task was solved."""
    success: bool
    """Whether it was solved as it should be, which is what curves show."""
    done: bool = True
    """Whether the world ended it; an episode that ran out of turns was cut short."""
    total: float = 1.0
    """What the toy pays where the task is solved."""

    @property
    def total_reward(self) -> float:
        """The sum of rewards."""
        return sum(turn.reward for turn in self.turns)


class Toy(Protocol):
    """A world of a few states."""

    @property
    def name(self) -> str:
        """In tables."""
        ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many actions each state has."""
        ...

    @property
    def tasks(self) -> int:
        """How many there are; they are numbered from 0."""
        ...

    def play(self, task: int, choose: Choose, luck: Stream) -> ToyEpisode:
        """An episode.

        Args:
            task: Which.
            choose: Takes the actions.
            luck: Of the world's own chances.
        """
        ...

    def best(self, state: int) -> int:
        """What somebody would do who knows the toy: demonstrations come from this."""
        ...
