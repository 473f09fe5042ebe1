"""End reasons of a stage, by the third of its steps."""

from collections import Counter
from collections.abc import Mapping, Sequence

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode
from palaestra.benchmarks.diagnosis.thirds import Thirds
from palaestra.record import record


@record
class EndCounts:
    """How the episodes of a third ended."""

    part: str
    episodes: int
    ends: Mapping[str, int]
    """By end reason, the most frequent first."""

    def share(self, reason: str) -> float:
        """The share of the episodes that ended so."""
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
