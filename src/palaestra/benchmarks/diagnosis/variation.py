"""Differences within groups: a policy gradient learns only from differences between the members of a group."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, get_args

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode, DiagnosedGroup

Variation: TypeAlias = Literal["nothing", "solved", "harm", "look-ups", "work", "end", "several"]
"""The difference between members of a group with unequal returns: whether they solved the task; otherwise only harm,
only look-ups, only other work, only the way they ended, or several of these. "nothing": all returns are equal."""
VARIATIONS: tuple[Variation, ...] = get_args(Variation)
_PARTS: tuple[tuple[Variation, Callable[[DiagnosedEpisode], object]], ...] = (
    ("harm", lambda one: (one.harmed, frozenset(one.broken))),
    ("look-ups", lambda one: one.look_ups),
    ("work", lambda one: one.work),
    ("end", lambda one: one.is_unfinished),
)


def group_variation(group: DiagnosedGroup) -> Variation:
    """Classify how the members of a group differ."""
    episodes = group.episodes
    if not _differs(episodes, lambda one: one.returned):
        return "nothing"
    if _differs(episodes, lambda one: one.solved):
        return "solved"
    found: list[Variation] = [name for name, read in _PARTS if _differs(episodes, read)]
    return found[0] if len(found) == 1 else "several"


def count_variations(groups: Sequence[DiagnosedGroup]) -> dict[Variation, int]:
    """Count the groups of each kind of variation; groups with fewer than two members are left out."""
    counts = Counter(group_variation(group) for group in groups if len(group.episodes) > 1)
    return {name: counts[name] for name in VARIATIONS}


def _differs(episodes: Sequence[DiagnosedEpisode], read: Callable[[DiagnosedEpisode], object]) -> bool:
    return len({read(episode) for episode in episodes}) > 1
