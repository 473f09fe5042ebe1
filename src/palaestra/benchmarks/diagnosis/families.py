"""How each family went: solved, points, harm and unfinished, early in a stage against late."""

from collections.abc import Callable, Sequence
from statistics import fmean

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode
from palaestra.benchmarks.diagnosis.thirds import Thirds
from palaestra.record import record


@record
class EpisodeFigures:
    """What some episodes came to."""

    episodes: int
    solved: float
    """A share, as the following; 0 to 1."""
    harmed: float
    unfinished: float
    points: float
    """The mean return."""


@record
class FamilyFigures:
    """A family, or all families together."""

    family: str
    """Empty for all together."""
    whole: EpisodeFigures
    first: EpisodeFigures | None
    """Of the first third of the steps; `None` where it has no episode of the family."""
    last: EpisodeFigures | None
    """Of the last third; `None` likewise, and where there is one step only."""

    @property
    def was_solved(self) -> bool:
        """Whether any of its episodes solved its task."""
        return self.whole.solved > 0


def episode_figures(episodes: Sequence[DiagnosedEpisode]) -> EpisodeFigures | None:
    """The figures of some episodes; `None` where there are none."""
    if not episodes:
        return None

    def share(holds: Callable[[DiagnosedEpisode], bool]) -> float:
        return fmean(holds(episode) for episode in episodes)

    return EpisodeFigures(
        episodes=len(episodes),
        solved=share(lambda one: one.solved),
        harmed=share(lambda one: one.harmed),
        unfinished=share(lambda one: one.is_unfinished),
        points=fmean(episode.returned for episode in episodes),
    )


def family_figures(episodes: Sequence[DiagnosedEpisode], thirds: Thirds) -> list[FamilyFigures]:
    """The figures of each family, by name."""
    found: dict[str, list[DiagnosedEpisode]] = {}
    for episode in episodes:
        found.setdefault(episode.family, []).append(episode)
    return [compare_thirds(name, found[name], thirds) for name in sorted(found)]


def compare_thirds(name: str, episodes: Sequence[DiagnosedEpisode], thirds: Thirds) -> FamilyFigures:
    """The figures of one family.

    Args:
        name: Of the family; empty for all.
        episodes: At least one.
        thirds: Of the stage.
    """
    whole = episode_figures(episodes)
    assert whole is not None, "a family without an episode is not listed"
    return FamilyFigures(
        family=name,
        whole=whole,
        first=episode_figures([episode for episode in episodes if episode.step in thirds.first]),
        last=episode_figures([episode for episode in episodes if episode.step in thirds.last]),
    )
