"""How far worlds are from each other, and which are too near to stand beside each other.

A distance is a Jaccard distance: one less the share of common features among all. The distance of two worlds is the
mean of their structure (schema, tool effects, requests) and their surface (names, tools, words). A world in wholly
other words is at most 0.5 away, a world under 0.2 is a near-duplicate.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from palaestra.envs.synthesis.diversity.world_profile import Features, WorldProfile

NEAREST = 0.2
"""Worlds, and requests of one world, that are nearer to each other than this are near-duplicates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldDistance:
    """How far two worlds are from each other, from 0 (the same) to 1 (nothing in common)."""

    schema: float
    effects: float
    requests: float
    surface: float

    @property
    def structure(self) -> float:
        """The distance without names."""
        return (self.schema + self.effects + self.requests) / 3

    @property
    def whole(self) -> float:
        """The mean of structure and surface."""
        return (self.structure + self.surface) / 2


def jaccard_distance(one: Features, other: Features) -> float:
    """One less the share of common features; 0 where both have none."""
    common = len(one & other)
    union = len(one) + len(other) - common
    return 1 - common / union if union else 0.0


def world_distance(one: WorldProfile, other: WorldProfile) -> WorldDistance:
    """How far two worlds are from each other."""
    surface = (
        jaccard_distance(one.names, other.names)
        + jaccard_distance(one.tools, other.tools)
        + jaccard_distance(one.words, other.words)
    ) / 3
    return WorldDistance(
        schema=jaccard_distance(one.schema, other.schema),
        effects=jaccard_distance(one.effects, other.effects),
        requests=jaccard_distance(one.requests, other.requests),
        surface=surface,
    )


def whole_distance(distance: WorldDistance) -> float:
    """The distance by which near-duplicates are found."""
    return distance.whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A world and its distance."""

    number: int
    distance: WorldDistance


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldPair:
    """Two worlds and their distance."""

    one: int
    other: int
    distance: WorldDistance


def nearest_neighbours(
    pairs: Iterable[WorldPair], measure: Callable[[WorldDistance], float] = whole_distance
) -> dict[int, Neighbour]:
    """By world: the nearest other one, the lowest number among equals.

    Args:
        pairs: Every pair of the worlds.
        measure: What counts as their distance.
    """
    found: dict[int, Neighbour] = {}
    for pair in pairs:
        for number, neighbour in ((pair.one, pair.other), (pair.other, pair.one)):
            best = found.get(number)
            if best is None or (measure(pair.distance), neighbour) < (measure(best.distance), best.number):
                found[number] = Neighbour(number=neighbour, distance=pair.distance)
    return found


def world_pairs(profiles: Mapping[int, WorldProfile]) -> list[WorldPair]:
    """Every pair of worlds with its distance."""
    numbers = sorted(profiles)
    counted = _number_features(profiles)
    return [
        WorldPair(one=one, other=other, distance=world_distance(counted[one], counted[other]))
        for place, one in enumerate(numbers)
        for other in numbers[place + 1 :]
    ]


def _number_features(profiles: Mapping[int, WorldProfile]) -> dict[int, WorldProfile]:
    """The profiles with numbers in place of features: a tuple is hashed anew each time that a set is asked for it."""
    numbers: dict[Hashable, int] = {}

    def number(features: Features) -> Features:
        return frozenset(numbers.setdefault(one, len(numbers)) for one in features)

    return {
        world: replace(
            one,
            schema=number(one.schema),
            effects=number(one.effects),
            requests=number(one.requests),
            names=number(one.names),
            tools=number(one.tools),
            words=number(one.words),
        )
        for world, one in profiles.items()
    }


def find_near_duplicate(profile: WorldProfile, kept: Mapping[int, WorldProfile]) -> Neighbour | None:
    """The nearest of some worlds that this one is a near-duplicate of; `None` where it is of none."""
    found: Neighbour | None = None
    for number, other in sorted(kept.items()):
        distance = world_distance(profile, other)
        if distance.whole < (NEAREST if found is None else found.distance.whole):
            found = Neighbour(number=number, distance=distance)
    return found


def quantiles(values: Iterable[float], parts: Sequence[float]) -> list[float]:
    """The values below which these shares of all values lie.

    Raises:
        ValueError: there are no values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("there are no values; give at least one")
    return [ordered[min(len(ordered) - 1, int(part * len(ordered)))] for part in parts]
