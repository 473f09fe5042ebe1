"""Learns with which shown values a tool is still to be called, from demonstrations that call it several times."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from palaestra.benchmarks.learnability.case import Case
from palaestra.benchmarks.learnability.demonstrations import Demonstration
from palaestra.benchmarks.learnability.facts import UNWANTED, WANTED
from palaestra.benchmarks.learnability.memory import Candidate
from palaestra.benchmarks.learnability.trees import Forest, TreeFeatures, grow
from palaestra.benchmarks.learnability.turns import abstract

FOLDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class WantExample:
    """A value with which a tool could be called."""

    tool: str
    fold: int
    """The fold of the demonstration; decisions for the demonstrations of a fold are learned from the other folds."""
    features: TreeFeatures
    label: str


def list_wants(
    demonstrations: Sequence[Demonstration],
    takes: Mapping[str, frozenset[str]],
    *,
    names: frozenset[str],
    vocabulary: Mapping[str, frozenset[str]],
) -> list[WantExample]:
    """Examples of whether a tool that is called several times is still to be called with a shown value.

    Values become examples where the tool is called, and where it could be called but never is again.
    """
    tools = [[str(written[0]).partition(" ")[0] for written in one.written] for one in demonstrations]
    pairs = {pair for called in tools for pair in pairwise(called)}
    known: dict[tuple[str, int, Candidate, frozenset[str]], WantExample] = {}
    folds = assign_folds(demonstrations)
    for number, (demonstration, called) in enumerate(zip(demonstrations, tools, strict=True)):
        case = Case(names=names, vocabulary=vocabulary)
        for turn, (read, written) in enumerate(zip(demonstration.read, demonstration.written, strict=True)):
            case.read(read)
            for tool, kinds in takes.items():
                may_follow = bool(case.tools) and (case.tools[-1], tool) in pairs
                if not may_follow or (called[turn] != tool and tool in called[turn:]):
                    continue
                later = {
                    str(piece)
                    for name, other in zip(called[turn:], demonstration.written[turn:], strict=True)
                    for piece in other
                    if name == tool
                }
                for one in (one for kind in sorted(kinds) for one in case.unused_values(tool, kind)):
                    features = case.candidate_features(one)
                    label = WANTED if one.text in later else UNWANTED
                    known[tool, number, one, features.has] = WantExample(
                        tool=tool, fold=folds[number], features=features, label=label
                    )
            chosen = abstract(written, case)
            case.write(chosen.outline, chosen.tool, chosen.chosen, chosen.words)
    return list(known.values())


def assign_folds(demonstrations: Sequence[Demonstration]) -> list[int]:
    """The fold of each demonstration; demonstrations that begin with the same text share a fold."""
    openings: dict[tuple[str, ...], int] = {}
    return [openings.setdefault(one.read[0], len(openings)) % FOLDS for one in demonstrations]


def grow_wants(examples: Sequence[WantExample], limits: frozenset[float]) -> dict[str, Forest]:
    """For each tool, a forest that decides whether a value is wanted."""
    by_tool: dict[str, list[WantExample]] = defaultdict(list)
    for example in examples:
        by_tool[example.tool].append(example)
    return {
        tool: grow([one.features for one in found], [one.label for one in found], limits=limits, trees=5)
        for tool, found in by_tool.items()
        if len({one.label for one in found}) > 1
    }
