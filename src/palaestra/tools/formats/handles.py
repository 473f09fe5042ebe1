"""Handles: a mark in place of what a small policy cannot copy.

A policy of a few million parameters learns within seconds to copy one token, and not within minutes to copy the digits
of an id. So ids, tracking codes, numbers of three digits and more, times of day and e-mail addresses each get a
handle, one mark, the same wherever it occurs: in the request, in an answer and in an argument. A handle is named after
what first showed it, a field (`paid_cents`) or else the id's own prefix (`ORD-`). It is numbered within its kind by
first appearance, except that what first appears in a listing takes the number of its record, if it is free: line
`<LIN.2>` has the product `<PRODUCT_ID.2>`. The world keeps its real ids; a handle is resolved before the world reads
a call.
"""

import itertools
import re
from collections.abc import Iterable, Sequence

from palaestra.tools.formats.format import Mark

_OPAQUE = re.compile(
    r"(?:(?<![\w.+\\-])|(?<=\\n))"  # where a word begins; inside a written call a new line is `\n`
    r"(?:(?P<MAIL>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<ID>[A-Z]{2,5})-\d{4,}\b"
    r"|(?P<CODE>[A-Z]{2,5}\d{6,})\b"
    r"|\d{4}-\d\d-\d\d(?P<T>T)\d\d:\d\d:\d\d\b"
    r"|(?P<N>\d{3,}(?:\.\d+)?)(?!\w|-\d))"  # a number, but not the year of a date or a part of a name
)
_FIELD = re.compile(r"(?<![A-Za-z_])([A-Za-z_]+)=\Z")
_HANDLE = re.compile(r"<([A-Z_]+)\.\d+>")
PER_KIND = 24
"""Handles of one kind in an episode; what comes after them stays text."""


class Handles:
    """The handles of one episode."""

    def __init__(self) -> None:
        self._mark_of: dict[str, Mark] = {}
        self._literal_of: dict[Mark, str] = {}

    def masked(self, text: str, *, record: int = 0) -> list[str]:
        """`text` with handles in place of what is opaque, new ones for what is new.

        Args:
            text: What a message or a call says.
            record: The place in its listing of the record that says it.
        """
        pieces: list[str] = []
        at = 0
        for found in _OPAQUE.finditer(text):
            mark = self._mark(found, record)
            if mark is None:
                continue
            if found.start() > at:
                pieces.append(text[at : found.start()])
            pieces.append(mark)
            at = found.end()
        if at < len(text):
            pieces.append(text[at:])
        return pieces

    def _mark(self, found: re.Match[str], record: int) -> Mark | None:
        literal = found.group()
        if literal not in self._mark_of:
            kind = _kind(found)
            numbers = itertools.chain(range(record, PER_KIND), range(min(record, PER_KIND)))
            free = next((m for n in numbers if (m := Mark(f"<{kind}.{n}>")) not in self._literal_of), None)
            if free is None:
                return None
            self._mark_of[literal], self._literal_of[free] = free, literal
        return self._mark_of[literal]

    def resolved(self, pieces: Iterable[str]) -> str:
        """The text that `pieces` stand for; a handle that nothing has stays as it is written."""
        return "".join(self._literal_of.get(p, p) if isinstance(p, Mark) else p for p in pieces)


def _kind(found: re.Match[str]) -> str:
    """The field that shows it, such as PRODUCT_ID; where there is none, or it says no more than `id`, what it is."""
    field = _FIELD.search(found.string, 0, found.start())
    if field and field[1] != "id":
        return field[1].upper()
    return found["ID"] or str(found.lastgroup)


def handle_marks(corpus: Sequence[Sequence[str]]) -> list[Mark]:
    """Every handle of every kind that occurs in `corpus`."""
    found = (_HANDLE.fullmatch(piece) for pieces in corpus for piece in pieces if isinstance(piece, Mark))
    kinds = sorted({match[1] for match in found if match})
    return [Mark(f"<{kind}.{number}>") for kind in kinds for number in range(PER_KIND)]
