"""What a world hands to its noise: which names have synonyms, which text is free, what changes by itself.

The noise itself knows no world. A world that hands over nothing still has the switches that need nothing: distractors,
renames, caps, failures, rate limit, latency and deadline.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic

from palaestra.protocols import R, State
from palaestra.records import Json
from palaestra.seeding import Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """A text that asks whoever reads it for something that nobody ordered."""

    id: str
    text: str
    """What is written into a field. `{canary}` stands for a code that occurs nowhere else in the world."""
    tools: tuple[str, ...]
    """Following the text means to call one of these with the code in an argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[R]):
    """A tool that lists rows in short, from an index that may lag behind the records.

    Name only tools whose rows another tool shows one by one: that one tells the truth.
    """

    kind: type[R]
    earlier: Mapping[str, Callable[[R, Stream], Json]] = field(default_factory=dict[str, Callable[[R, Stream], Json]])
    """By field of an entry: what it may have been some time ago."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldEvent(Generic[R]):
    """Something that happens in the world by itself: a parcel arrives, a piece is sold."""

    name: str
    """How the log names it."""
    kind: type[R]
    """It happens to a row of this kind."""
    where: Callable[[R], bool]
    """Whether it can happen to that row."""
    move: Callable[[State, R, Stream, datetime], None]
    """Writes what happened, at that moment of the virtual clock. It deletes no row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction(Generic[R]):
    """A note that says something else than the record that it is about."""

    kind: type[R]
    """The record's kind."""
    where: Callable[[R], bool]
    """Whether such a note can be written about that record."""
    plant: Callable[[State, R, Stream, datetime], None]
    """Writes the note, as rows of the past, before the episode that begins at that moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseMaterial:
    """Everything that noise needs to know about one world. A switch for which it holds nothing cannot be on."""

    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """By word of a tool's or an argument's name: other words for it."""
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """By table: the columns that hold what outsiders wrote, in which an instruction may hide."""
    injections: tuple[Injection, ...] = ()
    """Instructions that ask for this world's own tools, beside those that fit every world."""
    listings: Mapping[str, Listing[Any]] = field(default_factory=dict[str, Listing[Any]])
    """By tool: the lists that may be stale."""
    events: tuple[WorldEvent[Any], ...] = ()
    contradictions: tuple[Contradiction[Any], ...] = ()
    owners: tuple[str, ...] = ()
    """The tables whose rows own what points to them, such as customers: where a task is about one of those rows, the
    world leaves alone whatever points to it."""

    def parts(self) -> dict[str, object]:
        """By switch that needs data of the world: what it is made of, empty where there is nothing."""
        return {
            "stale": self.listings,
            "conflicts": self.contradictions,
            "events": self.events,
            "injections": self.texts,
        }
