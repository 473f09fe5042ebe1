"""First failing criteria of finished episodes that did not solve their task, in the order of the rubric.

A rubric lists its expectations in the order of the work, and its prohibitions after them. So the first failure is the
first expectation that was not met; where all were met, it is the prohibition that was broken first. A second count
covers the prohibition that was broken first in every such episode that broke one.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode
from palaestra.record import record

_RECORD_ID = re.compile(r"[A-Z][A-Z0-9]*-\d+")


@record
class FailureCounts:
    """The number of episodes in which a criterion was the first failure."""

    criterion: str
    """The id of the criterion; a record id in it is "*" where other tasks of the family refer to other records."""
    kind: Literal["missed", "broken"]
    episodes: int
    families: Mapping[str, int]
    """Number of episodes by family, the largest first."""


def failed_episodes(episodes: Iterable[DiagnosedEpisode]) -> list[DiagnosedEpisode]:
    """The episodes that finished without solving their task."""
    return [episode for episode in episodes if not episode.solved and not episode.is_unfinished]


def first_failures(episodes: Sequence[DiagnosedEpisode]) -> list[FailureCounts]:
    """The first failing criteria of finished, unsolved episodes, the most frequent first."""
    return _count(episodes, _first_failure)


def first_broken(episodes: Sequence[DiagnosedEpisode]) -> list[FailureCounts]:
    """The prohibitions that finished, unsolved episodes broke first, by turn; episodes without one are not counted."""
    return _count(episodes, lambda one: (one.broken[0], "broken") if one.broken else None)


def _first_failure(episode: DiagnosedEpisode) -> tuple[str, Literal["missed", "broken"]] | None:
    if episode.missed:
        return episode.missed[0], "missed"
    return (episode.broken[0], "broken") if episode.broken else None


def _count(
    episodes: Sequence[DiagnosedEpisode],
    fails: Callable[[DiagnosedEpisode], tuple[str, Literal["missed", "broken"]] | None],
) -> list[FailureCounts]:
    common = _common_criteria(episodes)
    found: dict[tuple[str, Literal["missed", "broken"]], Counter[str]] = {}
    for episode in failed_episodes(episodes):
        failure = fails(episode)
        if failure is not None:
            criterion, kind = failure
            name = criterion if criterion in common[episode.family] else _RECORD_ID.sub("*", criterion)
            found.setdefault((name, kind), Counter())[episode.family] += 1
    counts = [
        FailureCounts(
            criterion=name,
            kind=kind,
            episodes=families.total(),
            families=dict(sorted(families.items(), key=lambda item: (-item[1], item[0]))),
        )
        for (name, kind), families in found.items()
    ]
    return sorted(counts, key=lambda one: (-one.episodes, one.kind, one.criterion))


def _common_criteria(episodes: Iterable[DiagnosedEpisode]) -> dict[str, set[str]]:
    """The criteria that all tasks of a family share, by family."""
    found: dict[str, set[str]] = {}
    for episode in episodes:
        own = set(episode.criteria)
        found[episode.family] = found.get(episode.family, own) & own
    return found
