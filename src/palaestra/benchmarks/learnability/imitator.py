"""An imitator without gradient training: what a family's demonstrations did, decided by trees over the rendered text.

A tree decides the next call by what was read, one for each tool that was called last. Then the arguments are decided in
order, each by a tree of its own, and each value among those shown by a rule that narrows them down. The imitator is
given pieces of a rendering and nothing else.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeAlias

from palaestra.benchmarks.learnability.case import Case
from palaestra.benchmarks.learnability.choices import (
    BY_CHANCE,
    MOST_SHORT,
    CandidateFacts,
    ChoiceExample,
    ChoiceRule,
    learn_choice,
    learn_relation,
)
from palaestra.benchmarks.learnability.facts import UNWANTED, WANTED
from palaestra.benchmarks.learnability.memory import Candidate, Sort
from palaestra.benchmarks.learnability.reading import words_of
from palaestra.benchmarks.learnability.trees import Forest, Tree, TreeFeatures, grow
from palaestra.benchmarks.learnability.turns import COLUMN, HOLE, HOLES, SORTS, AbstractTurn, Argument, abstract, freeze
from palaestra.tools import Mark

ArgumentKey: TypeAlias = tuple[str, str]
"""The shape of a turn, and an argument of it."""
HoleKey: TypeAlias = tuple[str, str, str, int]
"""A context, an argument, the words before a value or the sort of a value alone, and which of its kind it is."""
WORD = HOLES["word"]
_WORDS_BEFORE = 16
_LONGEST_NAME = 80
_LEAST_REPEATED = 2
"""How often a value is chosen, at least, on average, where it is decided as a word is."""
_MOST_WORDS = 8
"""Different texts of a field up to which its words may decide; what has more is a name."""
_LIST = re.compile("\\[\ue002(?:,\ue002)*\\]")
_WORD = re.compile(r"[a-z_]+")
_FOLDS = 4
_MOST_PARTS = 3
_LEAST_OF_PART = 2
_LEAST_WORDS = 3
"""Different words of an argument that repeats the user's, at least."""
_NUMBERED = re.compile(r"\b\d+ [a-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A rendered episode: what was read before each turn, and the turn."""

    read: tuple[tuple[str, ...], ...]
    written: tuple[tuple[str, ...], ...]


@dataclass(slots=True)
class _Lessons:
    """What demonstrations did, to be made trees and rules of."""

    moments: dict[str, list[TreeFeatures]] = field(default_factory=lambda: defaultdict(list))
    shapes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    values: dict[ArgumentKey, list[tuple[TreeFeatures, str]]] = field(default_factory=lambda: defaultdict(list))
    choices: dict[HoleKey, list[tuple[TreeFeatures, ChoiceExample]]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, slots=True, kw_only=True)
class _WantExample:
    """A value that a tool could be called with."""

    tool: str
    fold: int
    """Of the demonstration; what is wanted in those of a fold is learnt from the others."""
    features: TreeFeatures
    label: str


class Imitator:
    """Acts as the demonstrations did.

    Args:
        demonstrations: Of one family, at least one.
    """

    def __init__(self, demonstrations: Sequence[Demonstration]) -> None:
        self._names = _fields_of_names(demonstrations)
        self._vocabulary = _repeated_words(demonstrations)
        self._takes = _kinds_taken(demonstrations)
        self._limits = frozenset(map(float, _numbers_named(demonstrations)))
        self._frozen = _constants(demonstrations, self._vocabulary)
        wants = _want_examples(demonstrations, self._takes, names=self._names, vocabulary=self._vocabulary)
        self._wants = _grow_wants(wants, self._limits)
        others = [_grow_wants([one for one in wants if one.fold != fold], self._limits) for fold in range(_FOLDS)]
        lessons = _Lessons()
        for demonstration, fold in zip(demonstrations, _folds(demonstrations), strict=True):
            self._learn(demonstration, lessons, replace(self.begin(), wants=others[fold]))
        self._shapes = {
            last: grow(lessons.moments[last], shapes, limits=self._limits) for last, shapes in lessons.shapes.items()
        }
        self._values = {
            key: grow([moment for moment, _ in examples], [label for _, label in examples], limits=self._limits)
            for key, examples in lessons.values.items()
        }
        self._choices = {hole: _grow_rules(examples, self._limits) for hole, examples in lessons.choices.items()}

    def begin(self) -> Case:
        """An episode in which nothing was read."""
        return Case(names=self._names, wants=self._wants, vocabulary=self._vocabulary)

    def _learn(self, demonstration: Demonstration, lessons: _Lessons, case: Case) -> None:
        for read, written in zip(demonstration.read, demonstration.written, strict=True):
            case.read(read)
            turn = self._frozen.apply(abstract(written, case))
            moment = case.moment(self._takes)
            last = case.tools[-1] if case.tools else ""
            lessons.moments[last].append(moment)
            lessons.shapes[last].append(turn.shape)
            before: dict[str, Candidate] = {}
            for number, argument in enumerate(turn.arguments):
                lessons.values[turn.shape, argument.name].append((moment, argument.template))
                moment = _with_template(moment, argument)
                own = () if argument.template.startswith(COLUMN) else argument.chosen
                for hole, right in zip(_holes(turn.context(number), argument), own, strict=True):
                    example = ChoiceExample(
                        among=_described(case, turn.tool, right.sort, before, argument), right=right
                    )
                    lessons.choices[hole].append((moment, example))
                    moment = _with_choice(moment, case, turn.tool, argument.name, right, before)
            case.write(turn.outline, turn.tool, turn.chosen, turn.words)

    def next_turn(self, case: Case) -> list[str] | None:
        """The next turn in pieces, of which the case takes note; `None` where no demonstration was ever there.

        Args:
            case: One that `begin` gave.
        """
        tree = self._shapes.get(case.tools[-1] if case.tools else "")
        if tree is None:
            return None
        moment = case.moment(self._takes)
        shape = tree.decide(moment)
        tool, *names = shape.split(" ")
        before: dict[str, Candidate] = {}
        arguments: list[Argument] = []
        for name in names:
            context = AbstractTurn(tool=tool, arguments=tuple(arguments)).context(len(arguments))
            template = self._values[shape, name].decide(moment)
            argument = Argument(name=name, template=template, chosen=())
            moment = _with_template(moment, argument)
            if template.startswith(COLUMN):
                listed = tuple(Candidate(sort="handle", text=mark) for mark in case.column(template[1:]))
                argument = replace(argument, chosen=listed)
            for hole in _holes(context, argument):
                choice = self._choose(case, moment, hole, tool, before, argument)
                if choice is None:
                    return None
                argument = replace(argument, chosen=(*argument.chosen, choice))
                moment = _with_choice(moment, case, tool, name, choice, before)
            arguments.append(argument)
        turn = AbstractTurn(tool=tool, arguments=tuple(arguments))
        case.write(turn.outline, turn.tool, turn.chosen, turn.words)
        return turn.pieces()

    def _choose(
        self,
        case: Case,
        moment: TreeFeatures,
        hole: HoleKey,
        tool: str,
        before: Mapping[str, Candidate],
        argument: Argument,
    ) -> Candidate | None:
        if hole not in self._choices:
            return None
        tree, rules = self._choices[hole]
        rule = rules[tree.decide(moment)]
        if isinstance(rule, Candidate):
            return rule
        sort = SORTS[HOLE.findall(argument.template)[len(argument.chosen)]]
        return rule.choose(_described(case, tool, sort, before, argument))


def _with_template(moment: TreeFeatures, argument: Argument) -> TreeFeatures:
    """The moment after it was decided what an argument says."""
    said = set[str]() if argument.is_prose else {f"t:{argument.name}={argument.template}"}
    return TreeFeatures(has=moment.has.union(said), numbers=moment.numbers)


def _with_choice(
    moment: TreeFeatures, case: Case, tool: str, name: str, choice: Candidate, before: dict[str, Candidate]
) -> TreeFeatures:
    """The moment after a value was chosen, which is added to those before."""
    described = case.describe(choice, tool, before)
    has = {f"g:{name} {feature}" for feature in described if not feature.startswith(BY_CHANCE)}
    before[name if name not in before else f"{name} {len(before)}"] = choice
    return TreeFeatures(has=moment.has | has, numbers=moment.numbers)


def _described(
    case: Case, tool: str, sort: Sort, before: Mapping[str, Candidate], argument: Argument
) -> tuple[CandidateFacts, ...]:
    """The values that could be written, with their features."""
    among = case.words_for(argument.name) if sort == "word" else None
    return tuple(
        CandidateFacts(candidate=one, has=case.describe(one, tool, before))
        for one in case.places
        if one.sort == sort and (among is None or one.text in among)
    )


def _holes(context: str, argument: Argument) -> list[HoleKey]:
    """The values that an argument chooses, in order."""
    holes: list[HoleKey] = []
    for found in HOLE.finditer(argument.template):
        around = argument.template[max(0, found.start() - _WORDS_BEFORE) : found.start()] if argument.is_prose else ""
        name = (context, argument.name, around + found.group())
        holes.append((*name, sum(hole[:3] == name for hole in holes)))
    return holes


def _grow_rules(
    examples: Sequence[tuple[TreeFeatures, ChoiceExample]], limits: frozenset[float], depth: int = 0
) -> tuple[Forest, Mapping[str, ChoiceRule | Candidate]]:
    """A tree whose leaves are rules, by name, or values: one rule where it is right, values where they are few."""
    rights = [example.right for _, example in examples]
    values = {one.text: one for one in rights}
    by_value = [moment for moment, _ in examples], [one.text for one in rights]
    if any(all(one.candidate != example.right for one in example.among) for _, example in examples):
        return grow(*by_value, limits=limits), values
    rule = learn_choice([example for _, example in examples])
    parts = _parts(examples, limits) if rule.wrong or len(rule.narrowings) > MOST_SHORT else None
    if parts is not None:
        return parts
    whole = Forest(trees=(Tree(label="0"),)), {"0": rule}
    if rule.wrong == 0 or len(examples) == 1:
        return whole
    if rights[0].sort != "handle" and len(set(rights)) <= len(rights) // _LEAST_REPEATED:
        return grow(*by_value, limits=limits), values
    return _split(examples, rule, limits) if depth == 0 else whole


def _parts(
    examples: Sequence[tuple[TreeFeatures, ChoiceExample]], limits: frozenset[float]
) -> tuple[Forest, Mapping[str, ChoiceRule | Candidate]] | None:
    """Short rules, each for the examples that those before it get wrong, and the tests that tell which one applies.

    A value of a loop is chosen otherwise at its first turn than at the others. `None` where a few rules do not do, or
    where telling them apart takes more tests than there are rules to tell apart.
    """
    rules: dict[str, ChoiceRule | Candidate] = {}
    labels = [""] * len(examples)
    while "" in labels and len(rules) < _MOST_PARTS:
        rest = [number for number, label in enumerate(labels) if not label]
        rule = learn_relation([examples[number][1] for number in rest])
        right = [n for n in rest if rule.choose(examples[n][1].among) == examples[n][1].right]
        if len(right) < min(_LEAST_OF_PART, len(rest)):
            return None
        name = str(len(rules))
        rules[name] = rule
        labels = [name if number in right else label for number, label in enumerate(labels)]
    if "" in labels:
        return None
    forest = grow([moment for moment, _ in examples], labels, limits=limits)
    is_right = all(forest.decide(moment) == label for (moment, _), label in zip(examples, labels, strict=True))
    return (forest, rules) if is_right and forest.trees[0].tests < len(rules) else None


def _split(
    examples: Sequence[tuple[TreeFeatures, ChoiceExample]], rule: ChoiceRule, limits: frozenset[float]
) -> tuple[Forest, Mapping[str, ChoiceRule | Candidate]]:
    """Two rules, one for the examples that the rule gets right and one for the others, if features tell them apart."""
    labels = ["right" if rule.choose(one.among) == one.right else "wrong" for _, one in examples]
    tree = grow([moment for moment, _ in examples], labels, limits=limits)
    rules: dict[str, ChoiceRule | Candidate] = {}
    for label in ("right", "wrong"):
        own = [one for (_, one), mine in zip(examples, labels, strict=True) if mine == label]
        rules[label] = learn_choice(own) if own else rule
    return tree, rules


@dataclass(frozen=True, slots=True, kw_only=True)
class _Constants:
    """What of the turns is not chosen value by value."""

    places: Mapping[tuple[str, str, str], frozenset[int]]
    """By context, argument and template: the values that never vary, and those of many that were not always shown."""
    columns: Mapping[tuple[str, str], str]
    """By tool and argument: the field whose values a list consists of."""

    def apply(self, turn: AbstractTurn) -> AbstractTurn:
        """A turn with these values as part of its templates."""
        applied = (self._applied(turn, number) for number in range(len(turn.arguments)))
        return replace(turn, arguments=tuple(applied))

    def _applied(self, turn: AbstractTurn, number: int) -> Argument:
        argument = turn.arguments[number]
        column = self.columns.get((turn.tool, argument.name))
        if column is not None and _is_list(argument):
            return replace(argument, template=f"{COLUMN}{column}")
        return freeze(argument, self.places.get((turn.context(number), argument.name, argument.template), frozenset()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _SeenArgument:
    """An argument of a demonstration."""

    argument: Argument
    shown: tuple[bool, ...]
    """Of each value: whether it had been shown."""
    columns: frozenset[str]
    """The fields whose values the list consists of."""


def _constants(demonstrations: Sequence[Demonstration], vocabulary: Mapping[str, frozenset[str]]) -> _Constants:
    """Values other than handles that are the same in every demonstration of a template, and the like."""
    seen: dict[tuple[str, str, str], list[_SeenArgument]] = defaultdict(list)
    lists: dict[tuple[str, str], list[_SeenArgument]] = defaultdict(list)
    for demonstration in demonstrations:
        case = Case(vocabulary=vocabulary)
        for read, written in zip(demonstration.read, demonstration.written, strict=True):
            case.read(read)
            turn = abstract(written, case)
            for number, argument in enumerate(turn.arguments):
                one = _seen(argument, case)
                seen[turn.context(number), argument.name, argument.template].append(one)
                if _is_list(argument):
                    lists[turn.tool, argument.name].append(one)
            case.write(turn.outline, turn.tool, turn.chosen, turn.words)
    columns: dict[tuple[str, str], list[str]] = {
        key: sorted(set[str].intersection(*(set(one.columns) for one in ones))) for key, ones in lists.items()
    }
    return _Constants(
        places={key: frozenset(_constant_places(ones)) for key, ones in seen.items()},
        columns={
            key: names[0]
            for key, names in columns.items()
            if names and len({len(one.argument.chosen) for one in lists[key]}) > 1
        },
    )


def _seen(argument: Argument, case: Case) -> _SeenArgument:
    names = (
        {f"{key[0]}.{key[1]}.{column}" for key, record in case.records.items() for column in record.fields}
        if _is_list(argument)
        else set[str]()
    )
    marks = tuple(one.text for one in argument.chosen)
    return _SeenArgument(
        argument=argument,
        shown=tuple(one in case.places for one in argument.chosen),
        columns=frozenset(name for name in names if case.column(name) == marks),
    )


def _constant_places(ones: Sequence[_SeenArgument]) -> Iterator[int]:
    for number, column in enumerate(zip(*(one.argument.chosen for one in ones), strict=True)):
        shown = all(one.shown[number] for one in ones)
        constant = column[0].sort in ("number", "text") and len(ones) > 1 and len(set(column)) == 1
        few = column[0].sort == "number" and len(set(column)) <= len(ones) // _LEAST_REPEATED
        if constant or not (shown or few):
            yield number


def _is_list(argument: Argument) -> bool:
    """Whether an argument is a list of handles alone."""
    return _LIST.fullmatch(argument.template) is not None


def _kinds_taken(demonstrations: Sequence[Demonstration]) -> dict[str, frozenset[str]]:
    """By tool that some demonstration calls several times: the kinds of handles that its calls name."""
    kinds: dict[str, set[str]] = defaultdict(set)
    several: set[str] = set()
    for demonstration in demonstrations:
        tools = Counter(str(written[0]).partition(" ")[0] for written in demonstration.written)
        several |= {tool for tool, count in tools.items() if count > 1}
        for written in demonstration.written:
            tool = str(written[0]).partition(" ")[0]
            kinds[tool] |= {p[1:].partition(".")[0] for p in written if isinstance(p, Mark) and "." in p}
    return {tool: frozenset(found) for tool, found in sorted(kinds.items()) if found and tool in several}


def _want_examples(
    demonstrations: Sequence[Demonstration],
    takes: Mapping[str, frozenset[str]],
    *,
    names: frozenset[str],
    vocabulary: Mapping[str, frozenset[str]],
) -> list[_WantExample]:
    """By tool that is called several times: with which of the values that were shown it is still to be called.

    Values are examples where the tool is called, and where it could be and never is again.
    """
    tools = [[str(written[0]).partition(" ")[0] for written in one.written] for one in demonstrations]
    pairs = {pair for called in tools for pair in pairwise(called)}
    known: dict[tuple[str, int, Candidate, frozenset[str]], _WantExample] = {}
    folds = _folds(demonstrations)
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
                for one in (one for kind in sorted(kinds) for one in case.unused_by(tool, kind)):
                    features = case.known_of(one)
                    label = WANTED if one.text in later else UNWANTED
                    known[tool, number, one, features.has] = _WantExample(
                        tool=tool, fold=folds[number], features=features, label=label
                    )
            chosen = abstract(written, case)
            case.write(chosen.outline, chosen.tool, chosen.chosen, chosen.words)
    return list(known.values())


def _folds(demonstrations: Sequence[Demonstration]) -> list[int]:
    """By demonstration: its fold; those that begin with the same text are in the same one."""
    openings: dict[tuple[str, ...], int] = {}
    return [openings.setdefault(one.read[0], len(openings)) % _FOLDS for one in demonstrations]


def _grow_wants(examples: Sequence[_WantExample], limits: frozenset[float]) -> dict[str, Forest]:
    """By tool: a forest that tells what is wanted from what is not."""
    by_tool: dict[str, list[_WantExample]] = defaultdict(list)
    for example in examples:
        by_tool[example.tool].append(example)
    return {
        tool: grow([one.features for one in found], [one.label for one in found], limits=limits, trees=5)
        for tool, found in by_tool.items()
        if len({one.label for one in found}) > 1
    }


def _repeated_words(demonstrations: Sequence[Demonstration]) -> dict[str, frozenset[str]]:
    """By argument that always repeats a single word of the user's, and not always the same: its words."""
    values: dict[str, set[str]] = defaultdict(set)
    others: set[str] = set()
    for demonstration in demonstrations:
        case = Case()
        for read, written in zip(demonstration.read, demonstration.written, strict=True):
            case.read(read)
            said = {word for text in case.said for word in words_of(text)}
            turn = abstract(written, case)
            for argument in turn.arguments:
                text = "".join(one.text for one in argument.chosen) if argument.template == WORD else argument.template
                values[argument.name].add(text)
                others |= {argument.name} if text not in said else set()
            case.write(turn.outline, turn.tool, turn.chosen, turn.words)
    return {
        name: frozenset(words)
        for name, words in sorted(values.items())
        if name not in others and len(words) >= _LEAST_WORDS and all(_WORD.fullmatch(word) for word in words)
    }


def _fields_of_names(demonstrations: Sequence[Demonstration]) -> frozenset[str]:
    """The fields that show many different texts or numbers."""
    texts: dict[str, set[str]] = defaultdict(set)
    for demonstration in demonstrations:
        case = Case()
        for read, written in zip(demonstration.read, demonstration.written, strict=True):
            case.read(read)
            for (tool, path, _), record in case.records.items():
                for name, value in record.fields.items():
                    if value.text and len(value.text) <= _LONGEST_NAME:
                        texts[f"{tool}.{path}.{name}"].add(value.text)
            turn = abstract(written, case)
            case.write(turn.outline, turn.tool, turn.chosen, turn.words)
    return frozenset(name for name, found in texts.items() if len(found) > _MOST_WORDS)


def _numbers_named(demonstrations: Sequence[Demonstration]) -> Iterator[str]:
    """The whole numbers that running text names, such as the days of a window."""
    for demonstration in demonstrations:
        for pieces in demonstration.read:
            for piece in pieces:
                if not isinstance(piece, Mark):
                    yield from (word for word in words_of(" ".join(_NUMBERED.findall(piece))) if word.isdigit())
