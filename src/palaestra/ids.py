"""Ids in texts: the only module that decides where an id begins and ends.

An id is one word. It has no white space, quotation mark, bracket, comma, semicolon, bar or backslash, and neither
begins nor ends with punctuation. `ORD-1042`, `HR/2024-17`, `ana.b+c@mail.example`, a UUID and
`https://desk.example/cases/17?v=2` are ids; `Ringstr. 4` is not.

Text alone cannot tell whether `HR/2024-17` is one id or `2024-17` is an id in the folder `HR`. `words` returns every
reading, for sets in which ids are looked up. `ids_in` takes the longest reading that is a known id.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from palaestra.records import Json

_WHOLE = re.compile(r"[^\s\"'`<>()\[\]{},;|\\“”„\u2018\u2019«»…]+")
_MAIL = re.compile(r"[\w.@+-]+")
_PATH = re.compile(r"[\w./@+-]+")
_PLAIN = re.compile(r"[\w-]+")
_MARKS = ".:!?-"
"""Punctuation that may occur inside an id, but not at its ends."""


@lru_cache(maxsize=4_096)
def tokens(text: str) -> frozenset[str]:
    """The words of a text as a reader separates them: ids, numbers and dates, without the punctuation around them."""
    found = {token.strip(_MARKS) for pattern in (_WHOLE, _MAIL) for token in pattern.findall(text)}
    return frozenset(found - {""})


@lru_cache(maxsize=4_096)
def words(text: str) -> frozenset[str]:
    """Every reading of every word of a text; every id in the text is among them."""
    paths = {path.strip(_MARKS) for path in _PATH.findall(text)} - {""}
    return tokens(text) | paths | frozenset(_PLAIN.findall(text))


def texts_in(value: Json | Mapping[str, Json]) -> Iterator[str]:
    """Every text inside a JSON value, in order, without its keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts_in(part)


def words_in(value: Json | Mapping[str, Json]) -> set[str]:
    """Every reading of every word in a JSON value, its keys included."""
    found: set[str] = set()
    for text in _texts(value):
        found |= words(text)
    return found


def ids_in(text: str, is_id: Callable[[str], bool]) -> list[str]:
    """The ids that a text names, each once, in order of occurrence.

    Args:
        text: The text.
        is_id: Whether an id exists. If readings overlap, the longest id counts.
    """
    taken: list[tuple[int, int]] = []
    for begin, end in _longest_first(text):
        free = all(end <= first or begin >= last for first, last in taken)
        if free and is_id(text[begin:end]):
            taken.append((begin, end))
    return list(dict.fromkeys(text[begin:end] for begin, end in sorted(taken)))


def is_readable(key: str) -> bool:
    """Whether a reader can tell an id from the words around it."""
    return key in tokens(f"It is {key}.")


def is_plain(key: str) -> bool:
    """Whether an id has only letters, digits, underscores and hyphens."""
    return _PLAIN.fullmatch(key) is not None


@lru_cache(maxsize=4_096)
def _longest_first(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(set(_spans(text)), key=lambda span: (span[0] - span[1], span)))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_WHOLE, _PATH, _MAIL, _PLAIN):
        for found in pattern.finditer(text):
            word = found[0]
            begin = found.start() + len(word) - len(word.lstrip(_MARKS))
            end = found.end() - (len(word) - len(word.rstrip(_MARKS)))
            if begin < end:
                yield begin, end


def _texts(value: Json | Mapping[str, Json]) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield name
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    else:
        yield str(value)
