"""The interface of a toy: a world of a few states, whose episodes take microseconds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from palaestra.seeding import Stream

Choose: TypeAlias = Callable[[int], int]
"""Chooses the action in a state; each action is a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyTurn:
    """A turn: its tokens and their results."""

    states: tuple[int, ...]
    """The state in which each token was sampled."""
    actions: tuple[int, ...]
    """The sampled actions."""
    parts: tuple[str, ...] = ()
    """The part of each token, as in `palaestra.trainers.data.batch.PARTS`; empty where a turn has no parts."""
    reward: float = 0.0
    anchor: int = 0
    """The observation before the turn, as a number."""
    good: bool = True
    """Whether a judge who knows the toy would call the turn good."""
    hope: float = 1.0
    """The highest return that is still possible after the turn, as a share of the toy's highest return."""
    switch: bool = False
    """Whether the turn began a new subgoal."""
    goal: int = 0
    """The subgoal of the turn, as a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyEpisode:
    """An episode."""

    task: int
    turns: tuple[ToyTurn, ...]
    passed: bool
    """Whether the task was solved."""
    success: bool
    """Whether the task was solved in the intended way; curves show this share."""
    done: bool = True
    """Whether the world ended the episode; an episode that ran out of turns was truncated."""
    total: float = 1.0
    """The reward of the toy for a solved task."""

    @property
    def total_reward(self) -> float:
        """The sum of rewards."""
        return sum(turn.reward for turn in self.turns)


class Toy(Protocol):
    """A world of a few states."""

    @property
    def name(self) -> str:
        """The name of the toy in tables."""
        ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of actions of each state."""
        ...

    @property
    def tasks(self) -> int:
        """Number of tasks; they are numbered from 0."""
        ...

    def play(self, task: int, choose: Choose, luck: Stream) -> ToyEpisode:
        """Play an episode.

        Args:
            task: The number of the task.
            choose: Chooses the actions.
            luck: Random stream of the world.
        """
        ...

    def best(self, state: int) -> int:
        """The best action in a state; demonstrations consist of these actions."""
        ...
