"""Counts how often cases were closed as expected."""

from collections import Counter
from collections.abc import Mapping, Sequence

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode
from palaestra.record import record


@record
class DecisionCounts:
    """The episodes whose cases should have been closed with the same decision."""

    expected: str
    episodes: int
    closed: Mapping[str, int]
    """Number of episodes by actual decision, the most frequent first."""
    solved: int
    returned: Mapping[str, float]
    """Mean return by actual decision."""

    @property
    def right(self) -> int:
        """Number of episodes with the expected decision, regardless of other failures."""
        return self.closed.get(self.expected, 0)


def decision_counts(episodes: Sequence[DiagnosedEpisode]) -> list[DecisionCounts]:
    """The actual decisions for each expected decision; empty where no rubric states a decision."""
    expected: dict[str, list[DiagnosedEpisode]] = {}
    for episode in episodes:
        if episode.expected is not None:
            expected.setdefault(episode.expected, []).append(episode)
    return [_counts(name, expected[name]) for name in sorted(expected)]


def _counts(expected: str, episodes: Sequence[DiagnosedEpisode]) -> DecisionCounts:
    closed = Counter(episode.closed for episode in episodes)
    ordered = sorted(closed, key=lambda name: (-closed[name], name))
    return DecisionCounts(
        expected=expected,
        episodes=len(episodes),
        closed={name: closed[name] for name in ordered},
        solved=sum(episode.solved for episode in episodes),
        returned={
            name: sum(episode.returned for episode in episodes if episode.closed == name) / closed[name]
            for name in ordered
        },
    )
