"""How often cases closed as they should have."""

from collections import Counter
from collections.abc import Mapping, Sequence

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode
from palaestra.record import record


@record
class DecisionCounts:
    """The episodes whose cases should have closed in one way."""

    expected: str
    episodes: int
    closed: Mapping[str, int]
    """How many closed in each way, the most frequent first."""
    solved: int
    returned: Mapping[str, float]
    """The mean return of those that closed in each way."""

    @property
    def right(self) -> int:
        """How many closed as they should, whatever else was wrong."""
        return self.closed.get(self.expected, 0)


def decision_counts(episodes: Sequence[DiagnosedEpisode]) -> list[DecisionCounts]:
    """For each way in which cases should have closed, how they closed; empty where no rubric states a decision."""
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
