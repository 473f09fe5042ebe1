"""The break-even of acting: the share of right acts above which acting pays more than leaving everything unchanged.

Let R be the mean return of right acts, W that of wrong acts and N that of no act. Acting pays where p R + (1 - p) W >
N, so for p above (N - W) / (R - W). An act is an episode that wrote a row; a right act solved its task.
"""

from collections.abc import Sequence
from statistics import fmean

from palaestra.benchmarks.diagnosis.episodes import DiagnosedEpisode
from palaestra.record import record


@record
class BreakEven:
    """The returns of acts, and the share of right acts above which acting pays."""

    family: str
    """The name of the family; empty for all families together."""
    acts: int
    right: int
    """Number of acts that solved their task."""
    idle: int
    """Number of episodes that wrote nothing."""
    right_points: float
    """The mean return of right acts; without a right act in the record, the rubrics' points for the right work."""
    right_recorded: bool
    """Whether the record has a right act."""
    wrong_points: float | None
    """The mean return of wrong acts; `None` where the record has none."""
    idle_points: float | None
    """The mean return of episodes that wrote nothing; `None` where the record has none."""
    share: float | None
    """The share of right acts above which acting pays: 0 where it always pays, above 1 where it never pays. `None`
    where the record lacks one of the three returns, or right acts earn no more than wrong ones."""

    @property
    def share_of_right_acts(self) -> float | None:
        """The share of acts that were right; `None` without acts."""
        return self.right / self.acts if self.acts else None

    @property
    def pays(self) -> bool | None:
        """Whether acting earned more than writing nothing; `None` where this is unknown."""
        if self.wrong_points is None or self.idle_points is None or self.share_of_right_acts is None:
            return None
        return (
            self.share_of_right_acts * self.right_points + (1 - self.share_of_right_acts) * self.wrong_points
            > self.idle_points
        )


def break_even_share(right: float, wrong: float, idle: float) -> float | None:
    """The share of right acts above which acting pays; `None` where right acts earn no more than wrong acts."""
    return max(0.0, (idle - wrong) / (right - wrong)) if right > wrong else None


def break_even(family: str, episodes: Sequence[DiagnosedEpisode]) -> BreakEven:
    """Compute the break-even of episodes.

    Args:
        family: The name of the episodes in a table.
        episodes: At least one.
    """
    right = [episode.returned for episode in episodes if episode.acted and episode.solved]
    wrong = [episode.returned for episode in episodes if episode.acted and not episode.solved]
    idle = [episode.returned for episode in episodes if not episode.acted]
    right_points = fmean(right) if right else fmean(episode.total for episode in episodes)
    known = bool(wrong) and bool(idle)
    return BreakEven(
        family=family,
        acts=len(right) + len(wrong),
        right=len(right),
        idle=len(idle),
        right_points=right_points,
        right_recorded=bool(right),
        wrong_points=fmean(wrong) if wrong else None,
        idle_points=fmean(idle) if idle else None,
        share=break_even_share(right_points, fmean(wrong), fmean(idle)) if known else None,
    )


def break_evens(episodes: Sequence[DiagnosedEpisode]) -> list[BreakEven]:
    """The break-even of all episodes, then of each family, sorted by name."""
    families = sorted({episode.family for episode in episodes})
    own = [break_even(name, [one for one in episodes if one.family == name]) for name in families]
    return [break_even("", episodes), *own] if episodes else []
