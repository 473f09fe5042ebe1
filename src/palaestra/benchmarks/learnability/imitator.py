"""An imitator without gradient training: trees over the rendered text decide as a family's demonstrations did.

A tree decides the next call from what was read; there is one tree for each last called tool. Then the arguments are
decided in order, each by its own tree. A rule that narrows the candidates chooses each value among the shown ones. The
only input of the imitator is the pieces of a rendering.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from palaestra.benchmarks.learnability.demonstrations import (
    LEAST_REPEATED,
    Demonstration,
    fields_of_names,
    find_constants,
    kinds_by_tool,
    numbers_in_text,
    words_of_the_user,
)
from palaestra.benchmarks.learnability.memory import Candidate, Sort
from palaestra.benchmarks.learnability.trees import Forest, Tree, TreeFeatures, grow
from palaestra.benchmarks.learnability.turns import COLUMN, HOLE, HOLES, SORTS, AbstractTurn, Argument, abstract
from palaestra.benchmarks.learnability.wants import FOLDS, assign_folds, grow_wants, list_wants

ArgumentKey: TypeAlias = tuple[str, str]
"""The shape of a turn, and one of its arguments."""
HoleKey: TypeAlias = tuple[str, str, str, int]
"""A context, an argument, the words before a value (or only its sort), and its number among values of this kind."""
WORD = HOLES["word"]
_WORDS_BEFORE = 16
_MOST_PARTS = 3
_LEAST_OF_PART = 2


@dataclass(slots=True)
class _Lessons:
    """Examples from demonstrations, from which trees and rules are learned."""

    moments: dict[str, list[TreeFeatures]] = field(default_factory=lambda: defaultdict(list))
    shapes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    values: dict[ArgumentKey, list[tuple[TreeFeatures, str]]] = field(default_factory=lambda: defaultdict(list))
    choices: dict[HoleKey, list[tuple[TreeFeatures, ChoiceExample]]] = field(default_factory=lambda: defaultdict(list))


class Imitator:
    """Acts as the demonstrations did.

    Args:
        demonstrations: Demonstrations of one family, at least one.
    """

    def __init__(self, demonstrations: Sequence[Demonstration]) -> None:
        self._names = fields_of_names(demonstrations)
        self._vocabulary = words_of_the_user(demonstrations)
        self._takes = kinds_by_tool(demonstrations)
        self._limits = frozenset(map(float, numbers_in_text(demonstrations)))
        self._frozen = find_constants(demonstrations, self._vocabulary)
        wants = list_wants(demonstrations, self._takes, names=self._names, vocabulary=self._vocabulary)
        self._wants = grow_wants(wants, self._limits)
        others = [grow_wants([one for one in wants if one.fold != fold], self._limits) for fold in range(FOLDS)]
        lessons = _Lessons()
        for demonstration, fold in zip(demonstrations, assign_folds(demonstrations), strict=True):
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
        """An episode before anything was read."""
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
                        among=_candidates_of(case, turn.tool, right.sort, before, argument), right=right
                    )
                    lessons.choices[hole].append((moment, example))
                    moment = _with_choice(moment, case, turn.tool, argument.name, right, before)
            case.write(turn.outline, turn.tool, turn.chosen, turn.words)

    def next_turn(self, case: Case) -> list[str] | None:
        """The next turn in pieces, which the case records; `None` in a situation without a demonstration.

        Args:
            case: A case made by `begin`.
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
        return rule.choose(_candidates_of(case, tool, sort, before, argument))


def _with_template(moment: TreeFeatures, argument: Argument) -> TreeFeatures:
    """The features after the template of an argument was decided."""
    said = set[str]() if argument.is_prose else {f"t:{argument.name}={argument.template}"}
    return TreeFeatures(has=moment.has.union(said), numbers=moment.numbers)


def _with_choice(
    moment: TreeFeatures, case: Case, tool: str, name: str, choice: Candidate, before: dict[str, Candidate]
) -> TreeFeatures:
    """The features after a value was chosen; the value is added to those in `before`."""
    described = case.describe(choice, tool, before)
    has = {f"g:{name} {feature}" for feature in described if not feature.startswith(BY_CHANCE)}
    before[name if name not in before else f"{name} {len(before)}"] = choice
    return TreeFeatures(has=moment.has | has, numbers=moment.numbers)


def _candidates_of(
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
    """A tree whose leaves are rules, by name, or values: one rule where it is right, values where there are few."""
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
    if rights[0].sort != "handle" and len(set(rights)) <= len(rights) // LEAST_REPEATED:
        return grow(*by_value, limits=limits), values
    return _split(examples, rule, limits) if depth == 0 else whole


def _parts(
    examples: Sequence[tuple[TreeFeatures, ChoiceExample]], limits: frozenset[float]
) -> tuple[Forest, Mapping[str, ChoiceRule | Candidate]] | None:
    """Short rules, each for the examples that earlier rules get wrong, and tests that decide which rule applies.

    For example, a loop chooses its first value in another way than its later values. `None` where a few rules do not
    suffice, or where choosing among them takes at least as many tests as there are rules.
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
    """Two rules, one for the examples that the rule gets right and one for the others, if features distinguish them."""
    labels = ["right" if rule.choose(one.among) == one.right else "wrong" for _, one in examples]
    tree = grow([moment for moment, _ in examples], labels, limits=limits)
    rules: dict[str, ChoiceRule | Candidate] = {}
    for label in ("right", "wrong"):
        own = [one for (_, one), mine in zip(examples, labels, strict=True) if mine == label]
        rules[label] = learn_choice(own) if own else rule
    return tree, rules
