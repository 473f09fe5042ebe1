"""Decision trees over features of few examples, grown by information gain; nothing in them is random."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2

import numpy as np
from numpy.typing import NDArray

_MOST_DEPTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What is known of an example."""

    has: frozenset[str]
    numbers: Mapping[str, float]

    def passes(self, test: "Test") -> bool:
        """Whether a test holds of it."""
        if test.limit is None:
            return test.name in self.has
        return self.numbers.get(test.name, float("inf")) <= test.limit


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Test:
    """Whether a feature is there, or a number is at most a limit."""

    name: str
    limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A leaf with a label, or a test and what follows from it."""

    label: str = ""
    test: Test | None = None
    holds: "Tree | None" = None
    fails: "Tree | None" = None

    def decide(self, features: Features) -> str:
        """The label of an example."""
        node = self
        while node.test is not None:
            node = node.holds if features.passes(node.test) else node.fails  # type: ignore[assignment]
        return node.label


def grow(examples: Sequence[Features], labels: Sequence[str], *, limits: frozenset[float], depth: int = 0) -> Tree:
    """A tree that tells the labels apart, as far as the features do.

    Args:
        examples: At least one.
        labels: Theirs.
        limits: Numbers that texts name; between two values such a number is taken as the limit.
        depth: How deep the tree is already.
    """
    counts = Counter(labels)
    most = min(counts, key=lambda label: (-counts[label], label))
    if len(counts) == 1 or depth == _MOST_DEPTH:
        return Tree(label=most)
    tests, table = _tests(examples, limits)
    best = _best(tests, table, labels)
    if best is None:
        return Tree(label=most)
    mask = table[:, best]
    sides = [
        grow(
            [one for one, here in zip(examples, mask, strict=True) if here == side],
            [one for one, here in zip(labels, mask, strict=True) if here == side],
            limits=limits,
            depth=depth + 1,
        )
        for side in (True, False)
    ]
    return Tree(label=most, test=tests[best], holds=sides[0], fails=sides[1])


def _tests(examples: Sequence[Features], limits: frozenset[float]) -> tuple[list[Test], NDArray[np.bool_]]:
    """The tests that tell some of the examples apart, and which of them each passes."""
    passed: dict[Test, list[int]] = {}
    for row, one in enumerate(examples):
        for name in one.has:
            passed.setdefault(Test(name=name), []).append(row)
    passed = {test: rows for test, rows in passed.items() if len(rows) < len(examples)}
    for name in set[str]().union(*(one.numbers for one in examples)):
        values = sorted({one.numbers[name] for one in examples if name in one.numbers})
        tests = [Test(name=name, limit=_limit(low, high, limits)) for low, high in pairwise(values)]
        if any(name not in one.numbers for one in examples):
            tests.append(Test(name=name, limit=1e18))
        for test in tests:
            passed[test] = [row for row, one in enumerate(examples) if one.passes(test)]
    ordered = sorted(passed, key=lambda test: (_rank(test.name), test.name, test.limit or 0.0))
    table = np.zeros((len(examples), len(ordered)), dtype=np.bool_)
    for column, test in enumerate(ordered):
        table[passed[test], column] = True
    return ordered, table


def _limit(low: float, high: float, limits: frozenset[float]) -> float:
    """The limit between two values: a number that a text names, else the middle."""
    named = sorted(limit for one in limits for limit in (one, -one) if low <= limit < high)
    return named[0] if named else (low + high) / 2


def _rank(name: str) -> tuple[int, int]:
    """Which of two equally good features is taken: facts of the case first, words of the request last."""
    group = name.partition(":")[0]
    plain = name.endswith(_PLAIN)
    return _ORDER.get(group, len(_ORDER)), 0 if plain else 1


_ORDER = {"h": 0, "c": 1, "g": 2, "l": 3, "f": 4, "r": 5, "e": 6, "a": 7, "u": 8, "m": 9}
_PLAIN = ("=true", "=false", "=0", "=asked", "=over", "=under", "=ahead", "=past")


def _best(tests: Sequence[Test], table: NDArray[np.bool_], labels: Sequence[str]) -> int | None:
    """The number of the test that leaves the least entropy; the first of equal ones."""
    if not tests:
        return None
    names = sorted(set(labels))
    one_hot = np.array([[label == name for name in names] for label in labels], dtype=np.float64)
    inside = table.T.astype(np.float64) @ one_hot
    outside = one_hot.sum(axis=0) - inside
    left = _entropy(inside) + _entropy(outside)
    whole = len(labels) * _entropy_of(Counter(labels))
    best = int(np.argmin(np.round(left, 9)))
    return best if left[best] < whole - 1e-9 else None


def _entropy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bits of the labels in each row, all examples together."""
    total = counts.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(counts > 0, -counts * np.log2(counts / total), 0.0)
    return np.asarray(bits.sum(axis=1), dtype=np.float64)


def _entropy_of(counts: Counter[str]) -> float:
    total = sum(counts.values())
    return -sum(n / total * log2(n / total) for n in counts.values())
