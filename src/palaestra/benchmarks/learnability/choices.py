"""Which of the shown values a call writes: a list of features, each of which narrows down what is left."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from palaestra.benchmarks.learnability.case import Candidate

_FEW = 5
"""One example in so many may be lost to a narrowing where none keeps all."""
_PRICE = 2.0
"""Of an example that is lost, in candidates rejected as a share of those left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFacts:
    """A value that could be written, and its features."""

    candidate: Candidate
    has: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceExample:
    """A choice that a demonstration made."""

    among: tuple[CandidateFacts, ...]
    right: Candidate


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Narrowing:
    """Keep what has a feature, or what lacks it; where nothing would be left, keep all."""

    name: str
    lacks: bool = False

    def keep(self, among: Sequence[CandidateFacts]) -> Sequence[CandidateFacts]:
        """What is left."""
        left = [one for one in among if (self.name in one.has) != self.lacks]
        return left or among


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRule:
    """Narrowings in order; of what is left the first counts, in the order of first showing."""

    narrowings: tuple[Narrowing, ...]
    last: bool = False
    """Whether the last counts instead."""
    wrong: int = 0
    """How many of the examples it gets wrong."""

    def choose(self, among: Sequence[CandidateFacts]) -> Candidate | None:
        """The value to write; `None` where none was shown."""
        for narrowing in self.narrowings:
            among = narrowing.keep(among)
        return among[-1 if self.last else 0].candidate if among else None


def learn_choice(examples: Sequence[ChoiceExample]) -> ChoiceRule:
    """The rule that narrowing by narrowing keeps what was chosen in every example and rejects most of the others."""
    left = [list(one.among) for one in examples]
    rights = [one.right for one in examples]
    rule = ChoiceRule(narrowings=())
    while any(len(one) > 1 for one in left):
        best = _best(left, rights)
        if best is None:
            break
        rule = replace(rule, narrowings=(*rule.narrowings, best))
        left = [list(best.keep(one)) for one in left]
    rule = _with_end(rule, examples)
    while rule.wrong and (best := _best(left, rights, spoilt=len(examples) // _FEW)) is not None:
        narrower = _with_end(replace(rule, narrowings=(*rule.narrowings, best)), examples)
        if narrower.wrong >= rule.wrong:
            break
        rule = narrower
        narrowed = [(best.keep(one), right) for one, right in zip(left, rights, strict=True)]
        kept = [(list(one), right) for one, right in narrowed if any(d.candidate == right for d in one)]
        left, rights = [one for one, _ in kept], [right for _, right in kept]
    return rule


def _with_end(rule: ChoiceRule, examples: Sequence[ChoiceExample]) -> ChoiceRule:
    """The rule with the end, first or last, that gets fewer of the examples wrong, and how many."""
    ends = [replace(rule, last=last) for last in (False, True)]
    wrong = [sum(one.choose(example.among) != example.right for example in examples) for one in ends]
    best = int(wrong[1] < wrong[0])
    return replace(ends[best], wrong=wrong[best])


def _best(
    left: Sequence[Sequence[CandidateFacts]], rights: Sequence[Candidate], *, spoilt: int = 0
) -> Narrowing | None:
    """The narrowing that rejects most, and of what was chosen at most `spoilt`."""
    gains: dict[tuple[str, bool], float] = defaultdict(float)
    lost: dict[tuple[str, bool], int] = defaultdict(int)
    for among, right in zip(left, rights, strict=True):
        if len(among) == 1:
            continue
        own = next(one.has for one in among if one.candidate == right)
        for name, count in Counter(chain.from_iterable(one.has for one in among)).items():
            if name not in own:
                gains[name, True] += count / len(among)
                lost[name, False] += 1
            elif count < len(among):
                gains[name, False] += 1 - count / len(among)
                lost[name, True] += 1
    fit = {one: gain - _PRICE * lost[one] for one, gain in gains.items() if lost[one] <= spoilt}
    fit = {one: gain for one, gain in fit.items() if gain > 0}
    if not fit:
        return None
    name, lacks = min(fit, key=lambda one: (-round(fit[one], 6), one[1], len(one[0]), one[0]))
    return Narrowing(name=name, lacks=lacks)
