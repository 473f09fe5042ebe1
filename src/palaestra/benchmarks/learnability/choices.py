"""Rules that choose the value that a call writes: a list of features, each of which narrows the shown candidates."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from palaestra.benchmarks.learnability.memory import Candidate

_FEW = 5
"""If no narrowing keeps all examples, one may lose one example in this number."""
_PRICE = 2.0
"""Price of a lost example, in additional right examples."""
_OF_FACTS = 0.7
_MOST_RELATIONS = 40
MOST_SHORT = 3
"""Maximum number of narrowings in a short rule."""
BY_CHANCE = ("order=", "at ")
"""Prefixes of features that count places; many of these hold by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFacts:
    """A value that could be written, and its features."""

    candidate: Candidate
    has: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceExample:
    """A choice in a demonstration."""

    among: tuple[CandidateFacts, ...]
    right: Candidate


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Narrowing:
    """Keep the candidates that have a feature, or those that lack it; if none would be left, keep all."""

    name: str
    lacks: bool = False

    def keep(self, among: Sequence[CandidateFacts]) -> Sequence[CandidateFacts]:
        """The candidates that are left."""
        left = [one for one in among if (self.name in one.has) != self.lacks]
        return left or among


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRule:
    """Narrowings in order; then the first remaining candidate is chosen, in the order of first showing."""

    narrowings: tuple[Narrowing, ...]
    last: bool = False
    """Whether the last remaining candidate is chosen instead."""
    wrong: int = 0
    """Number of examples that the rule gets wrong."""

    def choose(self, among: Sequence[CandidateFacts]) -> Candidate | None:
        """The value to write; `None` where no value was shown."""
        for narrowing in self.narrowings:
            among = narrowing.keep(among)
        return among[-1 if self.last else 0].candidate if among else None


def learn_choice(examples: Sequence[ChoiceExample]) -> ChoiceRule:
    """Learn the rule that gets most examples right, narrowing by narrowing.

    A narrowing keeps the chosen value of every example, if there is such a narrowing; otherwise it loses as few as
    possible. The search stops as soon as the first or the last remaining candidate is right in every example.
    """
    search = _Search(examples)
    rule = _with_end(ChoiceRule(narrowings=search.exact()), examples)
    while rule.wrong and (best := search.best(spoilt=0)) is not None:
        search.narrow(best)
        rule = _with_end(replace(rule, narrowings=(*rule.narrowings, best)), examples)
    while rule.wrong and (best := search.best(spoilt=len(examples) // _FEW)) is not None:
        narrower = _with_end(replace(rule, narrowings=(*rule.narrowings, best)), examples)
        if narrower.wrong >= rule.wrong:
            break
        rule = narrower
        search.narrow(best)
    return rule


def learn_relation(examples: Sequence[ChoiceExample]) -> ChoiceRule:
    """Learn a short rule of relations that gets all examples right; if none does, the best single relation."""
    search = _Search(examples)
    return _with_end(ChoiceRule(narrowings=search.exact() or search.likeliest()), examples)


def _with_end(rule: ChoiceRule, examples: Sequence[ChoiceExample]) -> ChoiceRule:
    """The rule with the end (first or last) that gets fewer examples wrong, and the number of wrong examples."""
    ends = [replace(rule, last=last) for last in (False, True)]
    wrong = [sum(one.choose(example.among) != example.right for example in examples) for one in ends]
    best = int(wrong[1] < wrong[0])
    return replace(ends[best], wrong=wrong[best])


@dataclass(slots=True)
class _Left:
    """The remaining candidates of an example, as bits of a number."""

    right: int
    left: int
    having: dict[str, int]
    """The candidates that have a feature, by feature."""


@dataclass(slots=True)
class _Gain:
    """The effect of a narrowing."""

    held: int = 0
    """Number of examples in which the chosen value has the feature."""
    lost: int = 0
    """Number of examples in which it rejects the chosen value."""
    rejected: float = 0.0
    """The share of remaining candidates that it rejects, summed over all examples."""
    first: int = 0
    """Examples in which the first remaining candidate becomes the chosen one, minus those in which it ceases to be."""
    last: int = 0


class _Search:
    """Searches for narrowings.

    Args:
        examples: The examples; the chosen value is among the candidates.
    """

    def __init__(self, examples: Sequence[ChoiceExample]) -> None:
        self._examples: list[_Left] = []
        for example in examples:
            having: dict[str, int] = defaultdict(int)
            for bit, one in enumerate(example.among):
                for name in one.has:
                    having[name] |= 1 << bit
            right = next(1 << bit for bit, one in enumerate(example.among) if one.candidate == example.right)
            self._examples.append(_Left(right=right, left=(1 << len(example.among)) - 1, having=dict(having)))

    def narrow(self, narrowing: Narrowing) -> None:
        """Apply a narrowing; examples whose chosen value it rejects are dropped."""
        for example in self._examples:
            example.left = _keep(example, example.left, narrowing)
        self._examples = [example for example in self._examples if example.left & example.right]

    def exact(self) -> tuple[Narrowing, ...]:
        """Find up to three narrowings by relations that are right in every example with one of the ends; else none."""
        positive, negative = self._relations()
        single = [(one,) for one in positive]
        pairs = [(one, other) for one in positive for other in (*positive, *negative) if one != other]
        triples = [(*one, other) for one in pairs for other in negative if other != one[1]]
        for rules in (single, pairs, triples):
            found = next((one for one in rules if self._is_exact(one)), None)
            if found is not None:
                return found
        return ()

    def likeliest(self) -> tuple[Narrowing, ...]:
        """The relation that gets most examples right."""
        counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for example in self._examples:
            for name, having in example.having.items():
                if having & example.right and not _rank(name) and " with " not in name:
                    counts[name][0] += _lowest(having) == example.right
                    counts[name][1] += _highest(having) == example.right
        best = min(counts, key=lambda name: (-max(counts[name]), name), default=None)
        return () if best is None else (Narrowing(name=best),)

    def _relations(self) -> tuple[list[Narrowing], list[Narrowing]]:
        """Features that chosen values always have, and features that they never have; most rejecting first."""
        held = [frozenset(n for n, h in one.having.items() if h & one.right) for one in self._examples]
        always = held[0].intersection(*held[1:])
        ever = frozenset[str]().union(*held)
        every = frozenset[str]().union(*(one.having for one in self._examples))
        positive = self._distinct([Narrowing(name=name) for name in sorted(always)])
        negative = self._distinct([Narrowing(name=name, lacks=True) for name in sorted(every - ever)])
        return positive[:_MOST_RELATIONS], negative[:_MOST_RELATIONS]

    def _distinct(self, narrowings: Sequence[Narrowing]) -> list[Narrowing]:
        """Relations that differ in the candidates that they keep; those that reject most come first."""
        found: dict[tuple[int, ...], Narrowing] = {}
        for one in narrowings:
            if not _rank(one.name) and " with " not in one.name:
                found.setdefault(tuple(_keep(example, example.left, one) for example in self._examples), one)
        rejected = {
            one: sum(
                1 - left.bit_count() / example.left.bit_count()
                for left, example in zip(kept, self._examples, strict=True)
            )
            for kept, one in found.items()
        }
        return sorted((one for one in rejected if rejected[one] > 0), key=lambda one: (-round(rejected[one], 6), one))

    def _is_exact(self, narrowings: Sequence[Narrowing]) -> bool:
        first = last = True
        for example in self._examples:
            left = example.left
            for one in narrowings:
                left = _keep(example, left, one)
            first = first and _lowest(left) == example.right
            last = last and _highest(left) == example.right
            if not (first or last):
                return False
        return True

    def best(self, *, spoilt: int) -> Narrowing | None:
        """The narrowing that gets most examples right, or else rejects most, and loses at most `spoilt` examples."""
        gains: dict[tuple[str, bool], _Gain] = defaultdict(_Gain)
        for example in self._examples:
            if example.left != example.right:
                _add_gains(example, gains)
        fit = {
            one: (max(gain.first, gain.last, 0) - _PRICE * gain.lost, gain.rejected * _share(one[0]))
            for one, gain in gains.items()
            if gain.lost <= spoilt and gain.rejected > 0
        }
        fit = {one: gain for one, gain in fit.items() if gain[0] > 0 or (gain[0] == 0 and spoilt == 0)}
        if not fit:
            return None
        rank = {one: max(_rank(one[0]), not one[1] and gains[one].held < len(self._examples) // 2) for one in fit}
        name, lacks = min(fit, key=lambda one: (rank[one], -fit[one][0], -round(fit[one][1], 6), one[1], one[0]))
        return Narrowing(name=name, lacks=lacks)


def _keep(example: _Left, left: int, narrowing: Narrowing) -> int:
    """The candidates that a narrowing leaves."""
    having = example.having.get(narrowing.name, 0)
    return left & (~having if narrowing.lacks else having) or left


def _add_gains(example: _Left, gains: dict[tuple[str, bool], _Gain]) -> None:
    left, right = example.left, example.right
    count = left.bit_count()
    first, last = _lowest(left) == right, _highest(left) == right
    for name, having in example.having.items():
        inside = left & having
        if not inside or inside == left:
            continue
        lacks = not having & right
        kept = left & ~having if lacks else inside
        gain = gains[name, lacks]
        gain.held += not lacks
        gain.rejected += 1 - kept.bit_count() / count
        gain.first += (_lowest(kept) == right) - first
        gain.last += (_highest(kept) == right) - last
        gains[name, not lacks].lost += 1


def _lowest(bits: int) -> int:
    return bits & -bits


def _highest(bits: int) -> int:
    return 1 << (bits.bit_length() - 1)


def _share(name: str) -> float:
    """The weight of rejected candidates: there are many facts of records, so more of them fit by chance."""
    return _OF_FACTS if " with " in name else 1.0


def _rank(name: str) -> int:
    """The rank of a feature: features that count places come last, because many fit by chance."""
    return int(name.startswith(BY_CHANCE))
