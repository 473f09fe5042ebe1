"""Converts a rendered turn to a call with values to choose, and back."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from palaestra.benchmarks.learnability.memory import Candidate, CaseMemory, Sort
from palaestra.tools import Mark

HOLES: Mapping[Sort, str] = {"handle": "\ue002", "number": "\ue003", "text": "\ue004", "word": "\ue005"}
COLUMN = "\ue006"
"""Prefix of the template of a list that consists of one field of all records."""
SORTS: Mapping[str, Sort] = {hole: sort for sort, hole in HOLES.items()}
HOLE = re.compile("[\ue002-\ue005]")
_NUMBER = r"(?<![\w.-])\d+(?![\w-]|\.\d)"
_ONE_WORD = re.compile(r"[a-z_]+")
_ARGUMENTS = re.compile(r' (\w+)=((?:"(?:[^"\\]|\\.)*"|[^" ])*)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a turn: its value with holes, and the values that fill them."""

    name: str
    template: str
    chosen: tuple[Candidate, ...]

    @property
    def is_prose(self) -> bool:
        """Whether the argument is text in quotes."""
        return self.template.startswith('"')


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstractTurn:
    """A turn with one call."""

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
        """The chosen values of all arguments."""
        return tuple(one for argument in self.arguments for one in argument.chosen)

    @property
    def words(self) -> dict[str, str]:
        """The word of each argument whose value is a single word."""
        found = {
            one.name: one.chosen[0].text if one.template == HOLES["word"] else one.template for one in self.arguments
        }
        return {name: word for name, word in found.items() if _ONE_WORD.fullmatch(word)}

    def context(self, number: int) -> str:
        """The tool, and the values of earlier arguments that are neither prose nor chosen."""
        fixed = (one for one in self.arguments[:number] if not one.is_prose and not HOLE.search(one.template))
        return " ".join([self.tool, *(f"{one.name}={one.template}" for one in fixed)])

    def pieces(self) -> list[str]:
        """The turn as written."""
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
    """Escape a text for use inside quotes."""
    return orjson.dumps(text).decode()[1:-1]


def abstract(written: Sequence[str], case: CaseMemory) -> AbstractTurn:
    """Convert a turn to a call whose values were chosen among the shown ones."""
    marks = iter([piece for piece in written if isinstance(piece, Mark)])
    line = "".join(HOLES["handle"] if isinstance(piece, Mark) else piece for piece in written)
    tool = line.partition(" ")[0]
    arguments = tuple(
        _abstract_argument(found[1], found[2], [next(marks) for _ in range(found[2].count(HOLES["handle"]))], case)
        for found in _ARGUMENTS.finditer(line)
    )
    return AbstractTurn(tool=tool, arguments=arguments)


def _abstract_argument(name: str, value: str, marks: Sequence[str], case: CaseMemory) -> Argument:
    """Make an argument with holes for shown values and for all numbers."""
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
    """Move some of the chosen values of an argument into its template.

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
