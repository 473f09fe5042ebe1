"""A rendered turn as a call with values to be chosen, and back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from palaestra.benchmarks.learnability.memory import Candidate, CaseMemory, Sort
from palaestra.tools import Mark

HOLES: Mapping[Sort, str] = {"handle": "\ue002", "number": "\ue003", "text": "\ue004", "word": "\ue005"}
COLUMN = "\ue006"
"""Begins the template of a list that is a field of all records."""
SORTS: Mapping[str, Sort] = {hole: sort for sort, hole in HOLES.items()}
HOLE = re.compile("[\ue002-\ue005]")
_NUMBER = r"(?<![\w.-])\d+(?![\w-]|\.\d)"
_ONE_WORD = re.compile(r"[a-z_]+")
_ARGUMENTS = re.compile(r' (\w+)=((?:"(?:[^"\\]|\\.)*"|[^" ])*)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a turn: its value with holes, and what stands in them."""

    name: str
    template: str
    chosen: tuple[Candidate, ...]

    @property
    def is_prose(self) -> bool:
        """Whether it is text in quotes."""
        return self.template.startswith('"')


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractTurn:
    """A turn of one call."""

    tool: str
    arguments: tuple[Argument, ...]

    @property
    def shape(self) -> str:
        """The tool and the names of the arguments."""
        return " ".join([self.tool, *(argument.name for argument in self.arguments)])

    @property
    def outline(self) -> str:
        """The turn without handles and prose."""
        return " ".join([self.tool, *(f"{one.name}={one.template}" for one in self.arguments if not one.is_prose)])

    @property
    def chosen(self) -> tuple[Candidate, ...]:
        """What all arguments chose."""
        return tuple(one for argument in self.arguments for one in argument.chosen)

    @property
    def words(self) -> dict[str, str]:
        """By argument that is a single word: the word."""
        found = {
            one.name: one.chosen[0].text if one.template == HOLES["word"] else one.template for one in self.arguments
        }
        return {name: word for name, word in found.items() if _ONE_WORD.fullmatch(word)}

    def context(self, number: int) -> str:
        """The tool, and what the arguments before one say that are neither prose nor values to be chosen."""
        fixed = (one for one in self.arguments[:number] if not one.is_prose and not HOLE.search(one.template))
        return " ".join([self.tool, *(f"{one.name}={one.template}" for one in fixed)])

    def pieces(self) -> list[str]:
        """The turn as it is written."""
        pieces = [self.tool]
        for argument in self.arguments:
            pieces += [f" {argument.name}=", *_fill(argument)]
        return pieces


def _fill(argument: Argument) -> list[str]:
    if argument.template.startswith(COLUMN):
        listed = [piece for one in argument.chosen for piece in (",", Mark(one.text))]
        return ["[", *listed[1:], "]"]
    values = iter(argument.chosen)
    pieces: list[str] = []
    for part in re.split("([\ue002-\ue005])", argument.template):
        if part in SORTS:
            value = next(values)
            text = escape(value.text) if argument.is_prose else value.text
            pieces.append(Mark(value.text) if value.sort == "handle" else text)
        elif part:
            pieces.append(part)
    return pieces


def escape(text: str) -> str:
    """A text as it stands inside quotes."""
    return orjson.dumps(text).decode()[1:-1]


def abstract(written: Sequence[str], case: CaseMemory) -> AbstractTurn:
    """A turn as a call whose values were chosen among those shown."""
    marks = iter([piece for piece in written if isinstance(piece, Mark)])
    line = "".join(HOLES["handle"] if isinstance(piece, Mark) else piece for piece in written)
    tool = line.partition(" ")[0]
    arguments = tuple(
        _abstract_argument(found[1], found[2], [next(marks) for _ in range(found[2].count(HOLES["handle"]))], case)
        for found in _ARGUMENTS.finditer(line)
    )
    return AbstractTurn(tool=tool, arguments=arguments)


def _abstract_argument(name: str, value: str, marks: Sequence[str], case: CaseMemory) -> Argument:
    """An argument with holes for what was shown, and for every number."""
    if value in case.words_for(name):
        return Argument(name=name, template=HOLES["word"], chosen=(Candidate(sort="word", text=value),))
    names = sorted({escape(one.text): one for one in case.places if one.sort == "text"}.items(), key=_longest)
    by_text = dict(names)
    pattern = re.compile("|".join([HOLES["handle"], *(re.escape(text) for text, _ in names), _NUMBER]))
    handles = iter(marks)
    parts: list[str] = []
    chosen: list[Candidate] = []
    at = 0
    for found in pattern.finditer(value):
        text = found.group()
        if text == HOLES["handle"]:
            candidate = Candidate(sort="handle", text=next(handles))
        elif text in by_text:
            candidate = by_text[text]
        else:
            candidate = Candidate(sort="number", text=text)
        parts += [value[at : found.start()], HOLES[candidate.sort]]
        chosen.append(candidate)
        at = found.end()
    return Argument(name=name, template="".join([*parts, value[at:]]), chosen=tuple(chosen))


def _longest(item: tuple[str, Candidate]) -> tuple[int, str]:
    return -len(item[0]), item[0]


def freeze(argument: Argument, places: frozenset[int]) -> Argument:
    """The argument with some of its chosen values as part of the template.

    Args:
        argument: An argument.
        places: The numbers of the values.
    """
    values = enumerate(argument.chosen)
    kept: list[Candidate] = []

    def put(found: re.Match[str]) -> str:
        number, value = next(values)
        if number in places:
            return escape(value.text) if argument.is_prose else value.text
        kept.append(value)
        return found.group()

    return Argument(name=argument.name, template=HOLE.sub(put, argument.template), chosen=tuple(kept))
