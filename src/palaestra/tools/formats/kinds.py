"""The kinds of values, derived from tool schemas: ids of records, and texts that a tool takes literally.

This module knows no world. Fields of answers are matched with arguments of tools by name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import orjson

from palaestra.records import JsonSchema

_EXAMPLE = re.compile(r"such as ([A-Z]{2,8})[-/]?\d")
_PREFIX = re.compile(r"[A-Za-z]+")
_NAMES = re.compile(r"\bnames such as [a-z]+ \d")
"""Says that things have names of a word and a number; an amount such as `net 30` is none."""
_PLACES = frozenset({"street", "city", "address", "country", "town", "place"})
_TIMES = re.compile(r"\btime\b|HH:MM|date-time", re.IGNORECASE)
_LONGEST = 60
"""Maximum letters of a text with a handle."""


class ArgumentKinds:
    """The arguments of some tools, by their content.

    Args:
        tools: The tools' schemas, in OpenAI's function-calling form.
    """

    def __init__(self, tools: Sequence[JsonSchema]) -> None:
        self._records: set[str] = set()
        self._texts: set[str] = set()
        self._record_of_prefix: dict[str, str] = {}
        self._argument_of_field: dict[str, str | None] = {}
        listed: set[str] = set()
        self.times = False
        """Whether an argument holds a time of day."""
        self.names = False
        """Whether things are named by a word and a number, as an argument's description says by an example."""
        for name, schema in _arguments(tools):
            described = str(schema.get("description", ""))
            forms = list(_forms(schema))
            self.times |= bool(_TIMES.search(f"{described} {[form.get('format') for form in forms]}"))
            self.names |= bool(_NAMES.search(described))
            if is_id(name):
                self._records.add(stem(name))
                if found := _EXAMPLE.search(described):
                    self._record_of_prefix.setdefault(found[1], stem(name))
            elif any("enum" in form for form in forms):
                listed.add(name)
            elif any(form.get("type") == "string" for form in forms):
                self._texts.add(name)
        self._texts -= listed
        self.places = {"street", "city"} <= self._texts
        """Whether a tool takes a street and a city."""

    def record_of(self, value: str, field: str) -> str:
        """The kind of record that an id names, such as `order`.

        Args:
            value: The id.
            field: The field that shows it, such as `order_id`; empty in a text.
        """
        prefix = _PREFIX.match(value)
        if prefix and (record := self._record_of_prefix.get(prefix[0])):
            return record
        if is_id(field) and stem(field) in self._records:
            return stem(field)
        return prefix[0].lower() if prefix and len(prefix[0]) < len(value) else stem(field) or "id"

    def text_of(self, value: str, field: str) -> str | None:
        """The argument that takes the text of a field literally; `None` if no tool takes it."""
        if len(value) > _LONGEST or "\n" in value:
            return None
        name = self._text_argument(field)
        if name is None or not (name in _PLACES or any(letter.isdigit() or letter == "@" for letter in value)):
            return None
        return name

    def _text_argument(self, field: str) -> str | None:
        """The argument that takes a field's text, matched by name."""
        if field not in self._argument_of_field:
            names = (name for name in sorted(self._texts) if field == name or field.endswith(f"_{name}"))
            self._argument_of_field[field] = next(names, None)
        return self._argument_of_field[field]


def read_kinds(tools: Sequence[JsonSchema]) -> ArgumentKinds:
    """The arguments of some tools; equal schemas are read once, because every episode of a world has them."""
    return _kinds_of(orjson.dumps(list(map(dict, tools))))


@lru_cache(maxsize=64)
def _kinds_of(schemas: bytes) -> ArgumentKinds:
    return ArgumentKinds(orjson.loads(schemas))


def is_id(field: str) -> bool:
    """Whether a field or an argument holds ids, judged by its name."""
    return field in ("id", "ids") or field.endswith(("_id", "_ids"))


def stem(field: str) -> str:
    """The record that the ids of a field name: `order` for `order_id`."""
    return field.removesuffix("s").removesuffix("id").removesuffix("_")


def _arguments(tools: Sequence[JsonSchema]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for tool in tools:
        function = cast("Mapping[str, Any]", tool.get("function", tool))
        parameters = cast("Mapping[str, Any]", function.get("parameters", {}))
        yield from cast("Mapping[str, Mapping[str, Any]]", parameters.get("properties", {})).items()


def _forms(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A schema and its alternatives."""
    yield schema
    for part in cast("list[Mapping[str, Any]]", schema.get("anyOf", [])):
        yield from _forms(part)
    if isinstance(items := schema.get("items"), dict):
        yield from _forms(cast("Mapping[str, Any]", items))
