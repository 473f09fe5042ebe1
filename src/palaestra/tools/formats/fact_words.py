"""Facts for small policies: a handle for the value, followed by words of one token each."""

from collections.abc import Iterable, Iterator

from palaestra.tools.formats.comparisons import days_word, gap_word, rank_word, size_word
from palaestra.tools.formats.facts import AskedText, RankedValue, ShownPart, ShownValue


def fact_words(parts: Iterable[ShownPart]) -> list[str]:
    """A message's parts as pieces of text and marks."""
    return [piece for part in parts for piece in ([part] if isinstance(part, str) else _pieces(part))]


def _pieces(part: ShownValue | RankedValue | AskedText) -> Iterator[str]:
    if isinstance(part, RankedValue):
        yield f" {rank_word(part.rank)}"
    elif isinstance(part, AskedText):
        yield " =asked"
    elif isinstance(part.value, int) and part.mark is None:
        yield str(part.value)
    else:
        yield part.mark or str(part.value)
        yield from _words(part)


def _words(shown: ShownValue) -> Iterator[str]:
    if isinstance(shown.value, int):
        yield f" {size_word(shown.value)}"
    if shown.distance is not None:
        yield f" {days_word(shown.distance)}"
    if shown.gap is not None:
        yield f" {gap_word(shown.gap.days)}"
    for comparison in shown.compared:
        if comparison.mark is not None:
            yield " over " if comparison.over else " under "
            yield comparison.mark
