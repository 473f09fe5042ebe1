"""The figures of each family: solved, points, harm and unfinished, early and late in a stage."""

from collections.abc import Callable, Sequence
from statistics import fmean

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode
from palaestra.benchmarks.diagnosis.thirds import Thirds
from palaestra.record import record


@record
class EpisodeFigures:
    """The mean figures of episodes."""

    episodes: int
    solved: float
    """A share from 0 to 1, as `harmed` and `unfinished`."""
    harmed: float
    unfinished: float
    points: float
    """The mean return."""


@record
class FamilyFigures:
    """The figures of a family, or of all families together."""

    family: str
    """Empty for all families together."""
    whole: EpisodeFigures
    first: EpisodeFigures | None
    """Figures of the first third of the steps; `None` where it has no episode of the family."""
    last: EpisodeFigures | None
    """Figures of the last third; `None` where it has no episode of the family, and where there is only one step."""

    @property
    def was_solved(self) -> bool:
        """Whether any episode solved its task."""
        return self.whole.solved > 0


def episode_figures(episodes: Sequence[DiagnosedEpisode]) -> EpisodeFigures | None:
    """The mean figures of episodes; `None` without episodes."""
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
    """The figures of each family, sorted by name."""
    found: dict[str, list[DiagnosedEpisode]] = {}
    for episode in episodes:
        found.setdefault(episode.family, []).append(episode)
    return [compare_thirds(name, found[name], thirds) for name in sorted(found)]


def compare_thirds(name: str, episodes: Sequence[DiagnosedEpisode], thirds: Thirds) -> FamilyFigures:
    """Compute the figures of a family in the thirds of a stage.

    Args:
        name: The name of the family; empty for all families.
        episodes: At least one.
        thirds: The thirds of the stage.
    """
    whole = episode_figures(episodes)
    assert whole is not None, "a family without an episode is not listed"
    return FamilyFigures(
        family=name,
        whole=whole,
        first=episode_figures([episode for episode in episodes if episode.step in thirds.first]),
        last=episode_figures([episode for episode in episodes if episode.step in thirds.last]),
    )
