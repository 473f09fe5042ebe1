"""What a world consists of, as sets of features by which worlds are held against each other.

The features of the *structure* hold no name, so that a world in other words has the same ones. An entity stands in them
as whether it is the one of those who ask, and what it refers to. Two entities of one shape are not told apart, so
distances are rather too small than too large. The features of the *surface* are names and words.
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from palaestra.envs.blueprints import ActionSpec, Blueprint, RequestSpec
from palaestra.envs.blueprints.scopes import Scopes
from palaestra.envs.synthesis.diversity.field_reads import FieldRead, read_fields

Features = frozenset[Hashable]
"""Each feature with its number among equal ones, so that what occurs twice counts twice."""
DESK_TABLES, DESK_TOOLS = 2, 12
"""The tables (cases, handbook) and tools that every compiled blueprint has."""
_WORD = re.compile(r"[a-z]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldProfile:
    """The features of a world."""

    schema: Features
    """Shapes of tables, and of each of their fields: its type, or what it refers to."""
    effects: Features
    """By tool: the shape of what it takes, reads and writes."""
    requests: Features
    """Shapes of kinds of request and of their refusals; a refusal joins the entity that is asked about with those
    that its condition reads."""
    names: Features
    """Names of tables and fields."""
    tools: Features
    """Names of tools in the plain style: another style makes no other world."""
    words: Features
    """Words of requests."""
    size: "WorldSize"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSize:
    """How large a world is."""

    tables: int
    tools: int
    requests: int
    hops: float
    """The different rows and lists of rows that decide a request, as a mean over requests."""


def profile_world(blueprint: Blueprint) -> WorldProfile:
    """The features of a blueprint's world.

    Raises:
        BlueprintError: the blueprint does not compile.
    """
    reader = _Reader(blueprint)
    return WorldProfile(
        schema=count_features(reader.schema()),
        effects=count_features(reader.effects()),
        requests=count_features(reader.requests()),
        names=count_features(reader.names()),
        tools=count_features(reader.tool_names()),
        words=frozenset(words_of(text for spec in blueprint.requests.values() for text in spec.says)),
        size=WorldSize(
            tables=len(blueprint.entities) + DESK_TABLES,
            tools=sum(len(spec.tools) for spec in blueprint.entities.values()) + len(blueprint.actions) + DESK_TOOLS,
            requests=len(blueprint.requests),
            hops=reader.hops(),
        ),
    )


def count_features(found: Iterable[Hashable]) -> Features:
    """Features, equal ones numbered."""
    return frozenset((one, number) for one, count in Counter(found).items() for number in range(count))


def words_of(texts: Iterable[str]) -> set[str]:
    """The words of texts, without what stands in braces."""
    return {word for text in texts for word in _WORD.findall(re.sub(r"\{[^}]*\}", " ", text).lower())}


class _Reader:
    """Reads the features of one blueprint."""

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._scopes = Scopes(blueprint)

    @cached_property
    def _shapes(self) -> Mapping[str, str]:
        """By entity: whether it is the one of those who ask, and the shapes of what it refers to."""
        return {entity: self._shape(entity, ()) for entity in self._blueprint.entities}

    def _shape(self, entity: str, above: tuple[str, ...]) -> str:
        if entity == self._blueprint.people:
            return "asker"
        types = self._scopes.types[entity].values()
        targets = sorted({kind.entity for kind in types if kind.name == "row"} - {entity, *above})
        return f"record({','.join(sorted(self._shape(target, (*above, entity)) for target in targets))})"

    def _field(self, entity: str, field: str) -> tuple[str, ...]:
        kind = self._scopes.types[entity][field]
        target = self._shapes[kind.entity] if kind.name == "row" else ""
        return self._shapes[entity], kind.name, target

    def _fields(self, found: Iterable[FieldRead]) -> tuple[tuple[str, ...], ...]:
        return tuple(sorted({self._field(one.entity, one.field) for one in found}))

    def schema(self) -> Iterable[Hashable]:
        """Tables and their fields."""
        for entity, types in self._scopes.types.items():
            yield self._shapes[entity]
            yield from (self._field(entity, field) for field in types)

    def effects(self) -> Iterable[Hashable]:
        """What each tool does."""
        for entity, spec in self._blueprint.entities.items():
            for text in spec.tools:
                word, _, field = text.partition(" ")
                by = [field] if field else spec.filters if word == "search" else []
                yield (word, self._shapes[entity], *(self._field(entity, one) for one in by))
        yield from map(self._effect, self._blueprint.actions.values())

    def _effect(self, spec: ActionSpec) -> Hashable:
        scope = self._scopes.action(spec)
        takes = sorted(kind.name for kind in self._scopes.parameters(spec).values())
        reads = self._fields(one for need in spec.requires for one in read_fields(need.when, scope))
        sets = self._fields(one for path in spec.sets for one in read_fields(path, scope))
        made = tuple(sorted(self._shapes[one.entity] for one in spec.creates))
        return "act", self._shapes[spec.about], tuple(takes), reads, sets, made

    def requests(self) -> Iterable[Hashable]:
        """Kinds of request, and their refusals."""
        for spec in self._blueprint.requests.values():
            scope = self._scopes.request(spec)
            about = self._shapes[spec.about]
            work = tuple(self._effect(self._blueprint.actions[step.action]) for step in spec.work)
            stated = tuple(sorted(kind.name for kind in self._scopes.parameters(spec).values()))
            yield "request", about, work, stated, spec.question is not None, bool(spec.amount)
            for one in spec.refusals:
                yield "refusal", about, self._fields(read_fields(one.when, scope)), bool(one.team)

    def names(self) -> Iterable[Hashable]:
        """Tables and fields by name."""
        for entity, spec in self._blueprint.entities.items():
            yield spec.plural
            for field, kind in self._scopes.types[entity].items():
                yield spec.plural, field, kind.name, kind.entity

    def tool_names(self) -> Iterable[Hashable]:
        """Tools by name; those that every desk has are left out."""
        for entity, spec in self._blueprint.entities.items():
            yield from (f"{text} {entity}" for text in spec.tools)
        yield from self._blueprint.actions

    def hops(self) -> float:
        """The rows and lists of rows that decide a request, as a mean."""
        counts = [len(self._deciding_rows(spec)) for spec in self._blueprint.requests.values()]
        return sum(counts) / len(counts) if counts else 0.0

    def _deciding_rows(self, spec: RequestSpec) -> set[str]:
        scope = self._scopes.request(spec)
        values = [value for step in spec.work for value in step.arguments.values() if isinstance(value, str)]
        texts = [*(one.when for one in spec.refusals), *spec.reads, spec.amount, *values]
        return {one.path for text in texts if text for one in read_fields(text, scope)}
