"""The order in which domains and sets of mechanisms are dealt to numbers: no plan twice before each was dealt once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from palaestra.seeding import Stream

MechanismSet: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DealtPlan:
    """A domain and the mechanisms of one world in it."""

    domain: str
    mechanisms: MechanismSet


def deal_plans(sets: Mapping[str, Sequence[MechanismSet]], stream: Stream) -> list[DealtPlan]:
    """Every domain with each of its sets of mechanisms, once.

    Domains take turns. Each gives the set that was dealt least often in any domain, and among equals the one whose
    pairs of mechanisms were: worlds near each other in the order differ in both words and structure.

    Args:
        sets: By domain: the sets that its worlds can have.
        stream: Decides among equals.
    """
    left = {domain: stream.split("sets", domain).permutation(options) for domain, options in sorted(sets.items())}
    dealt: list[DealtPlan] = []
    used: Counter[MechanismSet] = Counter()
    for turn in range(max(map(len, left.values()), default=0)):
        for domain in stream.split("turn", turn).permutation([name for name, options in left.items() if options]):
            chosen = min(left[domain], key=lambda one: (used[one], sum(used[pair] for pair in _pairs(one))))
            left[domain].remove(chosen)
            used.update({chosen, *_pairs(chosen)})
            dealt.append(DealtPlan(domain=domain, mechanisms=chosen))
    return dealt


def _pairs(mechanisms: MechanismSet) -> list[MechanismSet]:
    return list(combinations(mechanisms, 2))
