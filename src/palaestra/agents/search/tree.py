"""Monte Carlo tree search over a deterministic world, with maximal-value backup.

A node's value is the largest of its children's once it has any, and its estimate before (WebPilot, arXiv:2408.15978).
With exact estimates of leaves, the search finds the best leaf of the tree that it has seen; a visit-weighted mean,
which `backup="mean"` gives, does not. The paper states neither the constant of its selection rule nor how scores are
scaled; here both are UCT's, on values between 0 and 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Generic, Literal, TypeAlias, TypeVar

S = TypeVar("S")
A = TypeVar("A")
Backup: TypeAlias = Literal["max", "mean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """The limits of a search."""

    simulations: int = 32
    """Leaves added before each decision."""
    width: int = 4
    """Maximum proposed actions per node."""
    depth: int = 8
    """Maximum depth, in actions below the root."""
    exploration: float = sqrt(2)
    """The constant of UCT: how much a rarely visited child is preferred."""
    backup: Backup = "max"

    def __post_init__(self) -> None:
        for name in ("simulations", "width", "depth"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: a search needs at least 1")
        if self.exploration < 0:
            raise ValueError(f"exploration={self.exploration}: it is 0 (never) or more")


@dataclass(slots=True, kw_only=True)
class SearchNode(Generic[S, A]):
    """A state in the search tree."""

    state: S
    estimate: float
    """The value function's estimate, between 0 and 1."""
    over: bool
    """Whether the state is an end."""
    untried: list[A] | None = None
    """Proposed actions without a child; `None` before any were proposed."""
    children: list[tuple[A, "SearchNode[S, A]"]] = field(default_factory=list["tuple[A, SearchNode[S, A]]"])
    """The children, oldest first."""
    visits: int = 0
    total: float = 0.0
    """The sum of the estimates of the node and of all leaves below it."""
    value: float = 0.0
    """The value after backup."""


class SearchTree(Generic[S, A]):
    """A search from one state.

    Args:
        state: The initial state.
        propose: Actions to try in a state, the best first.
        advance: The state after an action, and whether it is an end. It must not change its argument.
        evaluate: The estimated value of a state, between 0 and 1.
        config: The limits of the search.
    """

    def __init__(
        self,
        state: S,
        *,
        propose: Callable[[S], Sequence[A]],
        advance: Callable[[S, A], tuple[S, bool]],
        evaluate: Callable[[S], float],
        config: SearchConfig,
    ) -> None:
        self._propose = propose
        self._advance = advance
        self._evaluate = evaluate
        self._config = config
        self.root: SearchNode[S, A] = self._node(state, over=False)

    def search(self) -> None:
        """Add leaves until the root has had its simulations, or nothing is left to try."""
        for _ in range(self._config.simulations):
            if not self._simulate():
                return

    def best(self) -> A | None:
        """The action of the root's most valuable child, on a tie the oldest; `None` without any child."""
        children = self.root.children
        return max(children, key=lambda pair: pair[1].value)[0] if children else None

    def descend(self, action: A) -> bool:
        """Make the child of `action` the root; its subtree is kept.

        Returns:
            Whether there is such a child.
        """
        for tried, child in self.root.children:
            if tried == action:
                self.root = child
                return True
        return False

    def _simulate(self) -> bool:
        path = [self.root]
        while (node := path[-1]).untried == [] and node.children and len(path) <= self._config.depth:
            open_children = [child for _, child in node.children if not self._is_exhausted(child, len(path))]
            if not open_children:
                return False
            path.append(max(open_children, key=lambda child: self._bound(node, child)))
        leaf = path[-1]
        if leaf.over or len(path) > self._config.depth:
            return False
        if leaf.untried is None:
            leaf.untried = list(self._propose(leaf.state)[: self._config.width])
        if not leaf.untried:
            return not self._is_exhausted(self.root, 0)
        action = leaf.untried.pop(0)
        state, over = self._advance(leaf.state, action)
        child = self._node(state, over=over)
        leaf.children.append((action, child))
        self._back_up([*path, child])
        return True

    def _is_exhausted(self, node: SearchNode[S, A], depth: int) -> bool:
        """Whether nothing can be added at a node or below it."""
        if node.over or depth >= self._config.depth:
            return True
        if node.untried is None or node.untried:
            return False
        return all(self._is_exhausted(child, depth + 1) for _, child in node.children)

    def _bound(self, parent: SearchNode[S, A], child: SearchNode[S, A]) -> float:
        """UCT: the value, plus a bonus for rarely visited children."""
        return child.value + self._config.exploration * sqrt(log(max(1, parent.visits)) / (1 + child.visits))

    def _node(self, state: S, *, over: bool) -> SearchNode[S, A]:
        estimate = self._evaluate(state)
        if not 0 <= estimate <= 1:
            raise ValueError(f"a state was valued at {estimate}: values lie between 0 and 1")
        return SearchNode(state=state, estimate=estimate, over=over, value=estimate, total=estimate, visits=1)

    def _back_up(self, path: Sequence[SearchNode[S, A]]) -> None:
        leaf = path[-1]
        for node in reversed(path[:-1]):
            node.visits += 1
            node.total += leaf.estimate
            if self._config.backup == "max":
                node.value = max(child.value for _, child in node.children)
            else:
                node.value = node.total / node.visits
