"""An imitator without gradient training: what a family's demonstrations did, decided by trees over the rendered text.

It has one tree for each tool that a turn can follow, which decides the next turn without the values that it chooses,
and for each of those values a rule that narrows down what was shown. It sees pieces of a rendering and nothing else.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from palaestra.benchmarks.learnability.case import Candidate, Case, Sort, tool_of
from palaestra.benchmarks.learnability.choices import ChoiceExample, ChoiceRule, Described, learn_choice
from palaestra.benchmarks.learnability.reading import words_of
from palaestra.benchmarks.learnability.trees import Features, Tree, grow
from palaestra.tools import Mark

_HOLES: Mapping[Sort, str] = {"handle": "\ue002", "number": "\ue003", "text": "\ue004"}
_SORTS: Mapping[str, Sort] = {hole: sort for sort, hole in _HOLES.items()}
_HOLE = re.compile("[\ue002-\ue004]")
_ARGUMENT = re.compile(r" (\w+)=(?:\[[^\]\"]*)?\Z")
_NUMBER = re.compile(r"(?<![\w.-])\d+(?![\w-]|\.\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A rendered episode: what was read before each turn, and the turn."""

    read: tuple[tuple[str, ...], ...]
    written: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """A value of a turn that was chosen: that of an argument, in whichever turn, or one in a turn's prose."""

    skeleton: str
    """The tool and the argument; the whole turn for prose."""
    number: int
    """Which value of the argument, or of the turn, it is."""


@dataclass(slots=True)
class _Lessons:
    """What demonstrations taught, to be made trees and rules of."""

    moments: dict[str, list[Features]] = field(default_factory=lambda: defaultdict(list))
    turns: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    choices: dict[Hole, list[tuple[Features, ChoiceExample]]] = field(default_factory=lambda: defaultdict(list))


class Imitator:
    """Acts as the demonstrations did.

    Args:
        demonstrations: Of one family, at least one.
    """

    def __init__(self, demonstrations: Sequence[Demonstration]) -> None:
        self._takes = _kinds_taken(demonstrations)
        self._limits = _numbers_named(demonstrations)
        lessons = _Lessons()
        for demonstration in demonstrations:
            self._learn(demonstration, lessons)
        self._trees = {
            last: grow(lessons.moments[last], turns, limits=self._limits) for last, turns in lessons.turns.items()
        }
        self._rules: dict[Hole, tuple[Tree, Mapping[str, ChoiceRule | Candidate]]] = {
            hole: _grow_rules(examples, self._limits) for hole, examples in lessons.choices.items()
        }

    def _learn(self, demonstration: Demonstration, lessons: _Lessons) -> None:
        case = Case()
        for read, written in zip(demonstration.read, demonstration.written, strict=True):
            case.read(read)
            skeleton, chosen = abstract(written, case)
            moment = case.moment(self._takes)
            last = case.tools[-1] if case.tools else ""
            lessons.moments[last].append(moment)
            lessons.turns[last].append(skeleton)
            holes = _holes(skeleton)
            for number, right in enumerate(chosen):
                example = ChoiceExample(among=_described(case, skeleton, right.sort, chosen[:number]), right=right)
                lessons.choices[holes[number]].append((moment, example))
            case.write(skeleton, chosen)

    def next_turn(self, case: Case) -> list[str] | None:
        """The next turn in pieces, of which the case takes note; `None` where no demonstration was ever there."""
        tree = self._trees.get(case.tools[-1] if case.tools else "")
        if tree is None:
            return None
        moment = case.moment(self._takes)
        skeleton = tree.decide(moment)
        chosen: list[Candidate] = []
        sorts = [_SORTS[hole] for hole in _HOLE.findall(skeleton)]
        for hole, sort in zip(_holes(skeleton), sorts, strict=True):
            choice = self._choose(case, moment, hole, sort, chosen)
            if choice is None:
                return None
            chosen.append(choice)
        case.write(skeleton, chosen)
        return fill(skeleton, chosen)

    def _choose(
        self, case: Case, moment: Features, hole: Hole, sort: Sort, chosen: Sequence[Candidate]
    ) -> Candidate | None:
        tree, rules = self._rules[hole]
        rule = rules[tree.decide(moment)]
        if isinstance(rule, Candidate):
            return rule
        return rule.choose(_described(case, hole.skeleton, sort, chosen))


def _holes(skeleton: str) -> list[Hole]:
    """The values that a turn chooses, in order."""
    holes: list[Hole] = []
    for place, found in enumerate(_HOLE.finditer(skeleton)):
        argument = _ARGUMENT.search(skeleton, 0, found.start())
        if argument is None:
            holes.append(Hole(skeleton=skeleton, number=place))
        else:
            name = f"{tool_of(skeleton)} {argument[1]}{found.group()}"
            holes.append(Hole(skeleton=name, number=sum(hole.skeleton == name for hole in holes)))
    return holes


def _described(case: Case, skeleton: str, sort: Sort, chosen: Sequence[Candidate]) -> tuple[Described, ...]:
    tool = tool_of(skeleton)
    return tuple(
        Described(candidate=one, has=case.describe(one, tool, chosen)) for one in case.places if one.sort == sort
    )


def _grow_rules(
    examples: Sequence[tuple[Features, ChoiceExample]], limits: frozenset[float], depth: int = 0
) -> tuple[Tree, Mapping[str, ChoiceRule | Candidate]]:
    """A tree whose leaves are rules, by name: one rule where one is right, else a value where it never varies."""
    rule = learn_choice([example for _, example in examples])
    rights = [example.right for _, example in examples]
    if rule.wrong == 0 or len(examples) == 1:
        return Tree(label="0"), {"0": rule}
    if rights[0].sort != "handle" or depth > 2:
        texts = [one.text for one in rights]
        tree = grow([moment for moment, _ in examples], texts, limits=limits)
        values = {one.text: one for one in rights}
        if rights[0].sort != "handle":
            return tree, values
        return Tree(label="0"), {"0": rule}
    return _split(examples, rule, limits, depth)


def _split(
    examples: Sequence[tuple[Features, ChoiceExample]], rule: ChoiceRule, limits: frozenset[float], depth: int
) -> tuple[Tree, Mapping[str, ChoiceRule | Candidate]]:
    """Two rules, one for the examples that the rule gets right and one for the others, if features tell them apart."""
    labels = ["right" if rule.choose(one.among) == one.right else "wrong" for _, one in examples]
    tree = grow([moment for moment, _ in examples], labels, limits=limits)
    if tree.test is None:
        return Tree(label="0"), {"0": rule}
    rules: dict[str, ChoiceRule | Candidate] = {}
    for label in ("right", "wrong"):
        own = [one for one, mine in zip(examples, labels, strict=True) if mine == label]
        rules[label] = learn_choice([example for _, example in own])
    return tree, rules


def abstract(written: Sequence[str], case: Case) -> tuple[str, tuple[Candidate, ...]]:
    """A turn without the values that it chose, and these values, in order."""
    parts: list[str] = []
    chosen: list[Candidate] = []
    names = sorted((one.text for one in case.places if one.sort == "text"), key=lambda text: (-len(text), text))
    numbers = {one.text for one in case.places if one.sort == "number"}
    pattern = re.compile("|".join([*map(re.escape, names), _NUMBER.pattern]))
    for piece in written:
        if isinstance(piece, Mark):
            candidate = Candidate(sort="handle", text=piece)
            if candidate in case.places:
                parts.append(_HOLES["handle"])
                chosen.append(candidate)
            continue
        at = 0
        for found in pattern.finditer(piece):
            sort: Sort = "number" if found.group().isdigit() else "text"
            if sort == "number" and found.group() not in numbers:
                continue
            parts += [piece[at : found.start()], _HOLES[sort]]
            chosen.append(Candidate(sort=sort, text=found.group()))
            at = found.end()
        parts.append(piece[at:])
    return "".join(parts), tuple(chosen)


def fill(skeleton: str, chosen: Sequence[Candidate]) -> list[str]:
    """A turn in pieces."""
    values = iter(chosen)
    pieces: list[str] = []
    for part in re.split("([\ue002-\ue004])", skeleton):
        if part in _SORTS:
            value = next(values)
            pieces.append(Mark(value.text) if value.sort == "handle" else value.text)
        elif part:
            pieces.append(part)
    return pieces


def _kinds_taken(demonstrations: Sequence[Demonstration]) -> dict[str, frozenset[str]]:
    """By tool: the kinds of handles that its calls name."""
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for demonstration in demonstrations:
        for written in demonstration.written:
            tool = str(written[0]).partition(" ")[0]
            kinds[tool].update(p[1:].partition(".")[0] for p in written if isinstance(p, Mark) and "." in p)
    return {tool: frozenset(found) for tool, found in sorted(kinds.items()) if found}


def _numbers_named(demonstrations: Sequence[Demonstration]) -> frozenset[float]:
    """The whole numbers that running text names, such as the days of a window."""
    return frozenset(float(number) for number in _named(demonstrations))


def _named(demonstrations: Sequence[Demonstration]) -> Iterator[str]:
    for demonstration in demonstrations:
        for pieces in demonstration.read:
            for piece in pieces:
                if not isinstance(piece, Mark):
                    yield from (
                        w for w in words_of(" ".join(re.findall(r"\b\d+ [a-z]+", piece))) if w.isdigit()
                    )
