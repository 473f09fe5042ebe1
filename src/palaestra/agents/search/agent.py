"""An agent that tries actions in forks of the current world and takes the most promising one.

It is privileged: it sees the results of actions before it takes them. In a branch it sees what an agent there would
see: messages, and whether the episode has ended. It never sees points.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from palaestra.agents.scripted import FINISH
from palaestra.agents.search.tree import SearchConfig, SearchTree
from palaestra.protocols import Action, ForkableWorld
from palaestra.records import JsonSchema, Message
from palaestra.seeding import Stream


@dataclass(frozen=True, slots=True)
class Branch:
    """A fork of the world, and the messages of its agent."""

    messages: tuple[Message, ...]
    """The messages from the beginning of the episode."""
    world: ForkableWorld
    """The world, for proposers that draw from it. A value function must not use it: it holds data that agents never
    see."""


class Proposer(Protocol):
    """Proposes actions in a branch."""

    def __call__(self, branch: Branch, count: int, stream: Stream) -> Sequence[Action]:
        """At most `count` actions, the best first."""
        ...


class BranchValue(Protocol):
    """Estimates how promising a branch is."""

    def __call__(self, messages: Sequence[Message], *, seed: int) -> float:
        """The value, between 0 and 1, from the messages."""
        ...


class TreeSearchAgent:
    """Searches before every turn, and keeps the subtree of the turn that it takes.

    Args:
        world: Returns the current world; it is forked, never changed.
        propose: Proposes actions.
        value: Estimates how promising a branch is.
        config: The limits of the search.
    """

    def __init__(
        self,
        world: Callable[[], ForkableWorld],
        *,
        propose: Proposer,
        value: BranchValue,
        config: SearchConfig | None = None,
    ) -> None:
        self._world = world
        self._propose = propose
        self._value = value
        self._config = config or SearchConfig()

    def reset(self, tools: Sequence[JsonSchema], *, seed: int) -> None:
        """Begin a new episode, with a stream of random numbers that the seed names."""
        del tools
        self._stream = Stream.root("tree-search", seed)
        self._messages: tuple[Message, ...] = ()
        self._tree: SearchTree[Branch, Action] | None = None

    def act(self, messages: Sequence[Message]) -> Action:
        """The action with the most valuable branch; it finishes if nothing is proposed."""
        self._messages = (*self._messages, *messages)
        tree = self._tree
        if tree is None or tree.root.state.world.digest() != self._world().digest():  # time passed, or noise differed
            tree = self._begin()
        tree.search()
        action = tree.best()
        if action is None:
            self._tree = None
            return FINISH
        self._tree = tree if tree.descend(action) else None
        return action

    def _begin(self) -> SearchTree[Branch, Action]:
        return SearchTree(
            Branch(self._messages, self._world().fork()),
            propose=self._propose_actions,
            advance=_advance,
            evaluate=self._evaluate_branch,
            config=self._config,
        )

    def _propose_actions(self, branch: Branch) -> Sequence[Action]:
        return self._propose(branch, self._config.width, self._stream.split(f"propose {len(branch.messages)}"))

    def _evaluate_branch(self, branch: Branch) -> float:
        return self._value(branch.messages, seed=self._stream.split(f"value {len(branch.messages)}").below(2**31))


def _advance(branch: Branch, action: Action) -> tuple[Branch, bool]:
    """The branch after an action. The reward is discarded unread."""
    world: Any = branch.world.fork()  # any: `ForkableWorld` is not part of Gymnasium's interface
    said, _, terminated, truncated, _ = world.step(action)
    return Branch((*branch.messages, *said), world), bool(terminated or truncated)
