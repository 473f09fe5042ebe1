"""Common properties of a family's demonstrations: values that never vary, words, names and numbers."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from palaestra.benchmarks.learnability.case import Case
from palaestra.benchmarks.learnability.reading import words_of
from palaestra.benchmarks.learnability.turns import COLUMN, HOLES, AbstractTurn, Argument, abstract, freeze
from palaestra.tools import Mark

_WORD_HOLE = HOLES["word"]
_LONGEST_NAME = 80
LEAST_REPEATED = 2
"""Minimum mean number of times that each value is chosen, for a value that is decided like a word."""
_MOST_WORDS = 8
"""Maximum number of different texts of a field whose words may decide; a field with more texts shows names."""
_LIST = re.compile("\\[\ue002(?:,\ue002)*\\]")
_WORD = re.compile(r"[a-z_]+")
_LEAST_WORDS = 3
"""Minimum number of different words of an argument that repeats the user's words."""
_NUMBERED = re.compile(r"\b\d+ [a-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A rendered episode: the pieces read before each turn, and the turn."""

    read: tuple[tuple[str, ...], ...]
    written: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """The parts of turns that are not chosen value by value."""

    places: Mapping[tuple[str, str, str], frozenset[int]]
    """By context, argument and template: positions of values that never vary, and of varied values not always shown."""
    columns: Mapping[tuple[str, str], str]
    """The field whose values form a list, by tool and argument."""

    def apply(self, turn: AbstractTurn) -> AbstractTurn:
        """Move these values of a turn into its templates."""
        applied = (self._freeze_argument(turn, number) for number in range(len(turn.arguments)))
        return replace(turn, arguments=tuple(applied))

    def _freeze_argument(self, turn: AbstractTurn, number: int) -> Argument:
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
    """For each value, whether it had been shown."""
    columns: frozenset[str]
    """The fields whose values form the list."""


def find_constants(demonstrations: Sequence[Demonstration], vocabulary: Mapping[str, frozenset[str]]) -> Constants:
    """Find constants: for example values other than handles that are the same in all demonstrations of a template."""
    seen: dict[tuple[str, str, str], list[_SeenArgument]] = defaultdict(list)
    lists: dict[tuple[str, str], list[_SeenArgument]] = defaultdict(list)
    for demonstration in demonstrations:
        case = Case(vocabulary=vocabulary)
        for read, written in zip(demonstration.read, demonstration.written, strict=True):
            case.read(read)
            turn = abstract(written, case)
            for number, argument in enumerate(turn.arguments):
                one = _read_argument(argument, case)
                seen[turn.context(number), argument.name, argument.template].append(one)
                if _is_list(argument):
                    lists[turn.tool, argument.name].append(one)
            case.write(turn.outline, turn.tool, turn.chosen, turn.words)
    columns: dict[tuple[str, str], list[str]] = {
        key: sorted(set[str].intersection(*(set(one.columns) for one in ones))) for key, ones in lists.items()
    }
    return Constants(
        places={key: frozenset(_constant_places(ones)) for key, ones in seen.items()},
        columns={
            key: names[0]
            for key, names in columns.items()
            if names and len({len(one.argument.chosen) for one in lists[key]}) > 1
        },
    )


def _read_argument(argument: Argument, case: Case) -> _SeenArgument:
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
        few = column[0].sort == "number" and len(set(column)) <= len(ones) // LEAST_REPEATED
        if constant or not (shown or few):
            yield number


def _is_list(argument: Argument) -> bool:
    """Whether an argument is a list of handles only."""
    return _LIST.fullmatch(argument.template) is not None


def kinds_by_tool(demonstrations: Sequence[Demonstration]) -> dict[str, frozenset[str]]:
    """For each tool that a demonstration calls several times, the kinds of handles that its calls name."""
    kinds: dict[str, set[str]] = defaultdict(set)
    several: set[str] = set()
    for demonstration in demonstrations:
        tools = Counter(str(written[0]).partition(" ")[0] for written in demonstration.written)
        several |= {tool for tool, count in tools.items() if count > 1}
        for written in demonstration.written:
            tool = str(written[0]).partition(" ")[0]
            kinds[tool] |= {p[1:].partition(".")[0] for p in written if isinstance(p, Mark) and "." in p}
    return {tool: frozenset(found) for tool, found in sorted(kinds.items()) if found and tool in several}


def words_of_the_user(demonstrations: Sequence[Demonstration]) -> dict[str, frozenset[str]]:
    """For each argument that always repeats a single, varying word of the user's, the words that it repeats."""
    values: dict[str, set[str]] = defaultdict(set)
    others: set[str] = set()
    for demonstration in demonstrations:
        case = Case()
        for read, written in zip(demonstration.read, demonstration.written, strict=True):
            case.read(read)
            said = {word for text in case.said for word in words_of(text)}
            turn = abstract(written, case)
            for argument in turn.arguments:
                text = (
                    "".join(one.text for one in argument.chosen)
                    if argument.template == _WORD_HOLE
                    else argument.template
                )
                values[argument.name].add(text)
                others |= {argument.name} if text not in said else set()
            case.write(turn.outline, turn.tool, turn.chosen, turn.words)
    return {
        name: frozenset(words)
        for name, words in sorted(values.items())
        if name not in others and len(words) >= _LEAST_WORDS and all(_WORD.fullmatch(word) for word in words)
    }


def fields_of_names(demonstrations: Sequence[Demonstration]) -> frozenset[str]:
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


def numbers_in_text(demonstrations: Sequence[Demonstration]) -> Iterator[str]:
    """The whole numbers in running text, such as the days of a window."""
    for demonstration in demonstrations:
        for pieces in demonstration.read:
            for piece in pieces:
                if not isinstance(piece, Mark):
                    yield from (word for word in words_of(" ".join(_NUMBERED.findall(piece))) if word.isdigit())
