"""Sizes of worlds, their distances, and the pairs that are closest, as tables."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from statistics import fmean

from palaestra.envs.synthesis.diversity.world_distance import (
    NEAREST,
    WorldDistance,
    WorldPair,
    find_near_duplicate,
    nearest_neighbours,
    quantiles,
    world_pairs,
)
from palaestra.envs.synthesis.diversity.world_profile import WorldProfile
from palaestra.envs.synthesis.generator import WorldPlan
from palaestra.table import Table

AWM_MEANS = {"tables": 18.5, "tools": 35.1}
"""What Agent World Model publishes of its 1,000 generated worlds."""
CLOSEST = 10
"""How many of the closest pairs are listed."""
_PARTS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95)
_MEASURES: Mapping[str, Callable[[WorldDistance], float]] = {
    "distance": lambda found: found.whole,
    "structure": lambda found: found.structure,
    "schema": lambda found: found.schema,
    "tool effects": lambda found: found.effects,
    "requests": lambda found: found.requests,
    "surface": lambda found: found.surface,
}


def diversity_tables(plans: Mapping[int, WorldPlan], profiles: Mapping[int, WorldProfile]) -> list[Table]:
    """What the worlds of some numbers are like, and how far they are from each other.

    Args:
        plans: By number: what each world is made of.
        profiles: By number: its features.
    """
    pairs = world_pairs(profiles)
    return [_sizes(plans, profiles), _distances(pairs), _closest(plans, pairs), _duplicates(plans, profiles, pairs)]


def _sizes(plans: Mapping[int, WorldPlan], profiles: Mapping[int, WorldProfile]) -> Table:
    rows: list[tuple[str, ...]] = []
    for name in ("tables", "tools", "requests", "hops"):
        values: list[float] = [getattr(profile.size, name) for profile in profiles.values()]
        published = f"{AWM_MEANS[name]:g}" if name in AWM_MEANS else "-"
        rows.append((name, f"{fmean(values):.1f}", f"{min(values):.1f}", f"{max(values):.1f}", published))
    joined = {pair for plan in plans.values() for pair in combinations(plan.mechanisms, 2)}
    counts = {
        "worlds": len(plans),
        "domains": len({plan.domain for plan in plans.values()}),
        "mechanisms": len({name for plan in plans.values() for name in plan.mechanisms}),
        "pairs of mechanisms": len(joined),
        "sets of mechanisms": len({plan.mechanisms for plan in plans.values()}),
        "domains with their sets": len({_parts(plan) for plan in plans.values()}),
    }
    rows += [
        (f"different {name}" if name != "worlds" else name, str(count), "-", "-", "-") for name, count in counts.items()
    ]
    return Table(
        title="What the worlds are like",
        columns=("what", "mean or count", "least", "most", "AWM mean"),
        rows=tuple(rows),
        note="Tables include cases and handbook; requests are kinds of request. Hops are the different rows and lists "
        "of rows that decide a request. AWM: Agent World Model, as published.",
    )


def _distances(pairs: Sequence[WorldPair]) -> Table:
    rows: list[tuple[str, ...]] = []
    nearest = [one.distance for one in nearest_neighbours(pairs).values()]
    alone = nearest_neighbours(pairs, _MEASURES["structure"])
    groups = {
        "nearest neighbour": (nearest, _MEASURES),
        "nearest by structure alone": ([one.distance for one in alone.values()], {"structure": _MEASURES["structure"]}),
        "any pair": ([pair.distance for pair in pairs], _MEASURES),
    }
    for group, (found, measures) in groups.items():
        for name, measure in measures.items():
            cells = quantiles([measure(one) for one in found], _PARTS) if found else []
            rows.append((group, name, *(f"{value:.2f}" for value in cells)))
    return Table(
        title="Distances between worlds",
        columns=("between", "of", "least", "5 %", "25 %", "median", "75 %", "95 %"),
        rows=tuple(rows),
        note="Jaccard distances. The distance is the mean of structure (schema, tool effects, requests, all without "
        "names) and surface (names of tables and fields, names of tools, words of requests).",
    )


def _closest(plans: Mapping[int, WorldPlan], pairs: Sequence[WorldPair]) -> Table:
    first = sorted(pairs, key=lambda pair: (pair.distance.whole, pair.one, pair.other))[:CLOSEST]
    rows = tuple(
        (
            f"synth-{pair.one}",
            f"synth-{pair.other}",
            *(f"{value:.2f}" for value in (pair.distance.whole, pair.distance.structure, pair.distance.surface)),
            _describe(plans[pair.one]),
            _describe(plans[pair.other]),
        )
        for pair in first
    )
    return Table(
        title="The closest pairs",
        columns=("world", "other", "distance", "structure", "surface", "made of", "other made of"),
        rows=rows,
    )


def _duplicates(
    plans: Mapping[int, WorldPlan], profiles: Mapping[int, WorldProfile], pairs: Sequence[WorldPair]
) -> Table:
    kept: dict[int, WorldProfile] = {}
    for number, profile in sorted(profiles.items()):
        if find_near_duplicate(profile, kept) is None:
            kept[number] = profile
    near = [pair for pair in pairs if pair.distance.whole < NEAREST]
    twice = [pair for pair in near if _parts(plans[pair.one]) == _parts(plans[pair.other])]
    renamed = {pair.other for pair in pairs if pair.distance.structure == 0 and pair.other in kept and pair.one in kept}
    rows = (
        ("worlds that are kept", str(len(kept))),
        (f"worlds refused: under {NEAREST} from one that is kept", str(len(profiles) - len(kept))),
        ("pairs of near-duplicates", str(len(near))),
        ("of them with one domain and one set of mechanisms", str(len(twice))),
        ("kept worlds with the whole structure of an earlier one, in other words", str(len(renamed))),
    )
    return Table(title="Near-duplicates", columns=("what", "count"), rows=rows)


def _parts(plan: WorldPlan) -> tuple[str, tuple[str, ...]]:
    return plan.domain, plan.mechanisms


def _describe(plan: WorldPlan) -> str:
    return f"{plan.domain}: {', '.join(plan.mechanisms)}"
