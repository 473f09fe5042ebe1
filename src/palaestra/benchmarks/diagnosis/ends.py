"""End reasons of a stage, for each third of its steps."""

from collections import Counter
from collections.abc import Mapping, Sequence

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode
from palaestra.benchmarks.diagnosis.thirds import Thirds
from palaestra.record import record


@record
class EndCounts:
    """Numbers of episodes of a third by end reason."""

    part: str
    episodes: int
    ends: Mapping[str, int]
    """Number of episodes by end reason, the most frequent first."""

    def share(self, reason: str) -> float:
        """The share of the episodes with this end reason."""
        return self.ends.get(reason, 0) / self.episodes if self.episodes else 0.0


def end_counts(episodes: Sequence[DiagnosedEpisode], thirds: Thirds) -> list[EndCounts]:
    """The end reasons of each third that has episodes."""
    found: list[EndCounts] = []
    for part, steps in thirds.parts:
        ends = Counter(episode.end_name for episode in episodes if episode.step in steps)
        if ends:
            ordered = dict(sorted(ends.items(), key=lambda item: (-item[1], item[0])))
            found.append(EndCounts(part=part, episodes=ends.total(), ends=ordered))
    return found
