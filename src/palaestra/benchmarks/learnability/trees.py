"""Decision trees for few examples, grown by information gain, and their vote; nothing in them is random.

With few examples, many features separate the labels by chance. A fact that decides is shown in several ways. So trees
that each know a part of the features mostly agree on such a fact, and disagree on features that fit by chance.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

_MOST_DEPTH = 8
_TWO = 2
VOTES = 11
"""Number of trees that vote on a label."""
_SHARE = 505
"""The share of the features that a tree knows, out of 1009."""
_ODD = tuple(np.uint64(2 * n + 3) for n in range(64))


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeFeatures:
    """The features of an example."""

    has: frozenset[str]
    numbers: Mapping[str, float]

    def passes(self, test: "Test") -> bool:
        """Whether the example passes a test."""
        if test.limit is None:
            return test.name in self.has
        return self.numbers.get(test.name, float("inf")) <= test.limit


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Test:
    """Tests whether a feature is present, or a number is at most a limit."""

    name: str
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A leaf with a label, or a test with two subtrees."""

    label: str = ""
    test: Test | None = None
    holds: "Tree | None" = None
    fails: "Tree | None" = None

    @property
    def tests(self) -> int:
        """Number of tests in the tree."""
        return int(self.test is not None) + sum(one.tests for one in (self.holds, self.fails) if one is not None)

    def decide(self, features: TreeFeatures) -> str:
        """The label of an example."""
        node = self
        while node.test is not None:
            following = node.holds if features.passes(node.test) else node.fails
            assert following is not None, "a test has what follows from it"
            node = following
        return node.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Trees that vote."""

    trees: tuple[Tree, ...]
    """The first tree knows all features; it breaks ties between labels with equally many votes."""

    def decide(self, features: TreeFeatures) -> str:
        """The label of an example."""
        votes = [tree.decide(features) for tree in self.trees]
        counts = Counter(votes)
        return max(counts, key=lambda label: (counts[label], label == votes[0], label))


def grow(
    examples: Sequence[TreeFeatures], labels: Sequence[str], *, limits: frozenset[float], trees: int = VOTES
) -> Forest:
    """Grow trees that separate the labels as far as the features allow.

    Args:
        examples: At least one.
        labels: The labels of the examples.
        limits: Numbers in texts; between two values, such a number is used as the limit.
        trees: Number of trees that vote.
    """
    if len(set(labels)) == 1:
        return Forest(trees=(Tree(label=labels[0]),))
    tests, table = _tests(examples, limits)
    if not tests:
        return Forest(trees=(_leaf(labels),))
    packed = np.packbits(table, axis=0)
    _, first, groups = np.unique(packed, axis=1, return_index=True, return_inverse=True)
    names = sorted(set(labels))
    one_hot = np.array([[label == name for name in names] for label in labels], dtype=np.float64)
    grower = _Grower(
        tests=tests,
        table=table[:, first],
        groups=np.asarray(groups).reshape(-1),
        labels=list(labels),
        one_hot=one_hot,
    )
    rows = np.arange(len(examples))
    hashes = np.array([crc32(test.name.encode()) for test in tests], dtype=np.uint64)
    every = np.ones(len(tests), dtype=np.bool_)
    always = np.array([test.name[:2] in _ALWAYS for test in tests], dtype=np.bool_)
    parts = [every, *(always | ((hashes * _ODD[n % len(_ODD)] + n * 7919) % 1009 < _SHARE) for n in range(trees - 1))]
    whole, *others = (grower.grow(rows, part) for part in parts)
    wrong = _wrong(whole, examples, labels)
    return Forest(trees=(whole, *(tree for tree in others if tree.test and _wrong(tree, examples, labels) <= wrong)))


def _wrong(tree: Tree, examples: Sequence[TreeFeatures], labels: Sequence[str]) -> int:
    """Number of examples that a tree gets wrong."""
    return sum(tree.decide(one) != label for one, label in zip(examples, labels, strict=True))


def _near_misses(
    table: NDArray[np.bool_], one_hot: NDArray[np.float64], groups: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The number of examples that each group of tests separates from the most similar examples of the other label.

    Zeros where there are more than two labels, because each has too few examples. After Kira and Rendell, The feature
    selection problem (AAAI 1992): examples that differ almost only in their label show which features decide.
    """
    weights = np.zeros(len(groups))
    if len(groups) == 1 or one_hot.any(axis=0).sum() > _TWO:
        return weights
    ones = table.astype(np.float64)
    count = ones.sum(axis=1)
    apart = count[:, None] + count[None, :] - 2 * (ones @ ones.T)
    apart[(one_hot @ one_hot.T) > 0] = np.inf
    near = apart == apart.min(axis=1, keepdims=True)
    for row in range(len(table)):
        weights += (table[row, groups] != table[near[row]][:, groups]).mean(axis=0)
    return weights


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grower:
    """Examples from which trees are grown."""

    tests: Sequence[Test]
    """All tests, the preferred ones first."""
    table: NDArray[np.bool_]
    """Whether each example passes, by example and by group of tests that the same examples pass."""
    groups: NDArray[np.int64]
    """The group of each test."""
    labels: Sequence[str]
    one_hot: NDArray[np.float64]
    """One-hot labels, by example and label."""

    def grow(self, rows: NDArray[np.int64], known: NDArray[np.bool_]) -> Tree:
        """Grow a tree for some of the examples, from the tests that it knows."""
        first = np.full(self.table.shape[1], len(self.tests), dtype=np.int64)
        places = np.flatnonzero(known)[::-1]
        first[self.groups[places]] = places
        return self._grow(rows, first, 0)

    def _grow(self, rows: NDArray[np.int64], first: NDArray[np.int64], depth: int) -> Tree:
        labels: list[str] = [self.labels[int(row)] for row in rows]
        leaf = _leaf(labels)
        if len(set(labels)) == 1 or depth == _MOST_DEPTH:
            return leaf
        table, one_hot = self.table[rows], self.one_hot[rows]
        inside = table.T.astype(np.float64) @ one_hot
        left = _entropy(inside) + _entropy(one_hot.sum(axis=0) - inside)
        left[first == len(self.tests)] = np.inf
        whole = len(labels) * _entropy_of(Counter(labels))
        least = np.round(left, 9).min()
        if not least < whole - 1e-9:
            return leaf
        good = np.flatnonzero(np.round(left, 9) == least)
        weights = np.round(_near_misses(table, one_hot, good), 6)
        best = int(first[good[weights == weights.max()]].min())
        holds = table[:, self.groups[best]]
        return Tree(
            label=leaf.label,
            test=self.tests[best],
            holds=self._grow(rows[holds], first, depth + 1),
            fails=self._grow(rows[~holds], first, depth + 1),
        )


def _leaf(labels: Sequence[str]) -> Tree:
    counts = Counter(labels)
    return Tree(label=min(counts, key=lambda label: (-counts[label], label)))


def _tests(examples: Sequence[TreeFeatures], limits: frozenset[float]) -> tuple[list[Test], NDArray[np.bool_]]:
    """The tests that distinguish some of the examples, and whether each example passes each of them."""
    passed: dict[Test, list[int]] = {}
    for row, one in enumerate(examples):
        for name in one.has:
            passed.setdefault(Test(name=name), []).append(row)
    passed = {test: rows for test, rows in passed.items() if len(rows) < len(examples)}
    for name in set[str]().union(*(one.numbers for one in examples)):
        values = sorted({one.numbers[name] for one in examples if name in one.numbers})
        tests = [Test(name=name, limit=limit) for low, high in pairwise(values) for limit in _limits(low, high, limits)]
        if any(name not in one.numbers for one in examples):
            tests.append(Test(name=name, limit=1e18))
        for test in tests:
            passed[test] = [row for row, one in enumerate(examples) if one.passes(test)]
    ordered = sorted(passed, key=lambda test: (_rank(test), test.name, test.limit or 0.0))
    table = np.zeros((len(examples), len(ordered)), dtype=np.bool_)
    for column, test in enumerate(ordered):
        table[passed[test], column] = True
    return ordered, table


def _limits(low: float, high: float, limits: frozenset[float]) -> list[float]:
    """The limits between two values: numbers in texts, otherwise the middle.

    A number in a text belongs to the side of zero, as in "within 30 days" and "more than 10 days ago", unless an
    example with exactly this number contradicts that.
    """
    usual = {limit for one in limits for limit in (one, -one - 0.5)}
    other = {limit for one in limits for limit in (one - 0.5, -one)}
    reached = {limit for limit in other if low <= limit < high and limit in (low, high - 0.5)}
    return sorted({limit for limit in usual if low <= limit < high} or reached) or [(low + high) / 2]


def _rank(test: Test) -> tuple[int, int]:
    """The preference among equally good tests: facts of the case first, words of the request last."""
    group = test.name.partition(":")[0]
    is_presence = test.limit is None and "=" not in test.name and " " not in test.name
    plain = 0 if is_presence else 1 if test.name.endswith(_PLAIN) else 2
    return _ORDER.get(group, len(_ORDER)), plain


_ORDER = {
    name: number
    for number, names in enumerate(("t", "h", "c", "g", "l", "w", "fq", "jkr", "e", "a", "u", "m"))
    for name in names
}
_ALWAYS = frozenset({"t:", "h:", "c:", "w:"})
"""Prefixes of the features that every tree knows: past actions and remaining values."""
_PLAIN = ("=true", "=false", "=0", "=asked", "=ahead", "=past")


def _entropy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Total bits of the labels in each row, over all examples."""
    total = counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(counts > 0, -counts * np.log2(counts / total), 0.0)
    return np.asarray(bits.sum(axis=1), dtype=np.float64)


def _entropy_of(counts: Counter[str]) -> float:
    total = sum(counts.values())
    return -sum(n / total * log2(n / total) for n in counts.values())
