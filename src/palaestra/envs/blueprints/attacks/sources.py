"""Where a value of one episode stood before it was used: in words that were said, or in a field of an answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from palaestra.envs.blueprints.attacks.notations import Meaning, read_value, write_like
from palaestra.records import Json, Message

Path: TypeAlias = tuple[str | int, ...]
REQUEST = -1
"""The place of the request among the texts; an answer's place is the number of its call."""

_EDGES = ".,:;!?()\"'"
_BEFORE = 2
"""How many words before a value are part of its pattern."""


@dataclass(slots=True)
class HeardEpisode:
    """What was said and answered so far."""

    texts: dict[int, str] = field(default_factory=dict[int, str])
    """What people said, by place."""
    answers: list[Json] = field(default_factory=list[Json])
    """By call."""

    def hear(self, messages: Sequence[Message]) -> None:
        """Take in what answers one call."""
        answer: Json = None
        for message in messages:
            if message["role"] == "tool":
                answer = _parse(message["content"])
            elif message["role"] == "user":
                self.texts[len(self.answers)] = message["content"]
        self.answers.append(answer)


@dataclass(frozen=True, slots=True)
class FieldSource:
    """A field of an earlier answer."""

    answer: int
    path: Path

    def read(self, heard: HeardEpisode) -> Meaning:
        """The value there.

        Raises:
            LookupError: there is none.
        """
        value: Json = heard.answers[self.answer]
        for step in self.path:
            value = _part_of(value, step)
        return read_value(value)


@dataclass(frozen=True, slots=True)
class WordSource:
    """A value in a text: after the same words, or else the first of its shape."""

    place: int
    before: str
    shape: str

    def read(self, heard: HeardEpisode) -> Meaning:
        """The value there.

        Raises:
            LookupError: there is none.
        """
        text = heard.texts[self.place]
        found = re.search(f"{self.before}({self.shape})", text) or re.search(f"({self.shape})", text)
        if found is None:
            raise KeyError(self.shape)
        return read_value(found[1])


@dataclass(frozen=True, slots=True)
class ConstantSource:
    """A value that stood nowhere: it is what it was."""

    value: Meaning

    def read(self, heard: HeardEpisode) -> Meaning:
        """The value."""
        return self.value


def _part_of(value: Json, step: str | int) -> Json:
    if isinstance(value, dict) and isinstance(step, str):
        return value[step]
    if isinstance(value, list) and isinstance(step, int):
        return value[step]
    raise KeyError(step)


Source: TypeAlias = FieldSource | WordSource | ConstantSource


def find_sources(value: Json, heard: HeardEpisode) -> Iterator[Source]:
    """Where a value stood, in whatever notation; words first, then the earliest answers."""
    meaning = read_value(value)
    if meaning is None or isinstance(meaning, bool):
        return
    for place, text in heard.texts.items():
        for start, word in _values_in(text):
            if read_value(word) == meaning:
                before = r"\s+".join(map(re.escape, text[:start].split()[-_BEFORE:]))
                yield WordSource(place, rf"{before}\s*" if before else "", shape_of(word))
    for number, answer in enumerate(heard.answers):
        if not _is_handbook(answer):
            yield from (FieldSource(number, path) for path, leaf in leaves(answer) if read_value(leaf) == meaning)


def leaves(value: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """The plain values of an answer, with where they stand."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from leaves(part, (*path, name))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from leaves(part, (*path, number))
    else:
        yield path, value


VALUE = re.compile(
    r"EUR \d+\.\d\d|\d{4}-\d\d-\d\d|\d{2}[./]\d{2}[./]\d{4}|\d{1,2} [A-Z][a-z]{2} \d{4}"
    r"|[A-Za-z]+[-_]?\d+|\d+(?:\.\d\d)?"
)
"""A value in a text: an amount, a day, an id or a number."""


def _values_in(text: str) -> Iterator[tuple[int, str]]:
    """The values of a text, and its other words, with where they begin."""
    for found in VALUE.finditer(text):
        yield found.start(), found[0]
    for found in re.finditer(r"[^\s\d]+", text):
        if word := found[0].strip(_EDGES):
            yield found.start(), word


def shape_of(word: str) -> str:
    """A pattern of values of one kind: digits stand for digits, and letters for themselves."""
    if not re.search(r"\d", word):
        return rf"[^\s{re.escape(_EDGES)}]+"
    return r"\b" + re.sub(r"\d+", lambda found: r"\d+", re.escape(word))


def write_from(source: Source, heard: HeardEpisode, model: Json) -> Json:
    """The value of a source in the notation of the value that it was found for.

    Raises:
        LookupError: the source has no value here.
    """
    return write_like(source.read(heard), model)


def _is_handbook(answer: Json) -> bool:
    """Whether an answer is a section of the handbook: the script does not read what it says."""
    return isinstance(answer, dict) and "body" in answer and "title" in answer


def _parse(content: str) -> Json:
    try:
        parsed: Json = orjson.loads(content)
    except orjson.JSONDecodeError:
        return content
    return parsed
