"""What the agent was shown so far: words, numbers, and facts about each record."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from palaestra.ids import ids_in, tokens
from palaestra.proof.notations import decimal_cents, iso_days
from palaestra.records import Json, Message

_AMOUNT = re.compile(r"\bEUR (\d[\d,]*)\.(\d\d)\b")
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?![\w-])")
_COUNTS = {
    **{word: n for n, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine"), 1)},
    "both": 2,
}
"""Numbers that people write as words."""


class Transcript:
    """The facts that messages have shown.

    Attributes:
        words: The words, numbers and ids of all messages, in lower case; days also in ISO 8601.
        numbers: The numbers: whole ones and fractions in answers, amounts and counts in texts. An amount such as
            "EUR 12.50" is 1250, as is an answer's "12.50".
        facts: By record id: the values that answers showed of it, by column.
        beside: By id: the values beside it in the rows of other records, such as a line's product.
        listings: For each answer, the ids that it named, in order. The request's ids are a listing too.

    Args:
        is_id: Whether a word is an id.
    """

    def __init__(self, is_id: Callable[[str], bool] = lambda _: False) -> None:
        self._is_id = is_id
        self.words: set[str] = set()
        self.numbers: set[float] = set()
        self.facts: dict[str, dict[str, Json]] = {}
        self.beside: dict[str, list[Json]] = {}
        self.listings: list[tuple[str, ...]] = []

    def read(self, messages: Iterable[Message]) -> None:
        """Add the content of messages."""
        for message in messages:
            content = message["content"]
            self.words |= {token.casefold() for token in tokens(content)} | set(iso_days(content))
            answer = _parse(content) if message["role"] == "tool" else None
            if answer is None:
                self._read_text(content)
                if message["role"] == "user":
                    self.listings.append(tuple(ids_in(content, self._is_id)))
            else:
                self.listings.append(tuple(dict.fromkeys(self._read_value(answer))))

    def has_words(self, text: str) -> bool:
        """Whether every word of a text was shown; a day may have been shown in another notation."""
        days = list(iso_days(text))
        return all(day in self.words for day in days) if days else self._has_tokens(text)

    def _has_tokens(self, text: str) -> bool:
        return all(token.casefold() in self.words for token in tokens(text))

    def values_of(self, key: str) -> list[Json]:
        """All values that were shown of a record, or beside its id."""
        return [*self.facts.get(key, {}).values(), *self.beside.get(key, ())]

    def _read_text(self, text: str) -> None:
        for whole, cents in _AMOUNT.findall(text):
            self.numbers.add(int(whole.replace(",", "")) * 100 + int(cents))
        self.numbers.update(int(found.replace(",", "")) for found in _NUMBER.findall(_AMOUNT.sub(" ", text)))
        self.numbers.update(n for word, n in _COUNTS.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE))

    def _read_value(self, value: Json) -> Iterator[str]:
        """Read a value of an answer, and yield the ids of the records in it."""
        if isinstance(value, Mapping):
            row: Mapping[str, Any] = value
            key = row.get("id")
            if isinstance(key, str):
                shown = {name: v for name, v in row.items() if name != "id"}
                self.facts.setdefault(key, {}).update(shown)
                yield key
                for other in (v for v in shown.values() if isinstance(v, str) and self._is_id(v)):
                    self.beside.setdefault(other, []).extend(v for v in shown.values() if v != other)
                    yield other
            for part in row.values():
                yield from self._read_value(part)
        elif isinstance(value, list):
            for part in value:
                yield from self._read_value(part)
        elif isinstance(value, str):
            self._read_text(value)
            if (cents := decimal_cents(value)) is not None:
                self.numbers.add(cents)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self.numbers.add(value)


def _parse(content: str) -> Json | None:
    """The answer of a tool as a value; `None` if it is text."""
    try:
        value: Json = json.loads(content)
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None
