"""Keeps the groups with the largest spread from a larger number. Axes: R trajectories, G groups."""

from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.filters.uncertain import keep_groups
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import centre, number_keys, variance_over


@part(
    "filter",
    "rank",
    formula="the groups of the greatest std_g R > 0, at most `keep`",
    sources=("arXiv:2602.20739", "github.com/agents-x-project/PyVision-RL"),
    confidence="code",
    requires=("passed_R",),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """PyVision-RL's filter (arXiv:2602.20739): drops groups of equal returns and keeps those with the largest spread.

    Other parts leave out trajectories whose world failed or that ran too long. Fewer groups than `keep` may be left.
    """

    keep: int
    """The number of groups to train on."""
    blamed: bool = True
    """Whether to keep passed trajectories with a return below their group's mean, which makes them less likely."""

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"keep={self.keep}: the number of groups to train on; at least 1")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Filter`."""
        owner_R, groups = number_keys(batch.group_R)
        spread_G = variance_over(batch.return_R, owner_R, groups).sqrt()
        keep_R = keep_groups(spread_G, strategy="top_k", amount=self.keep, zeros=False)[owner_R]
        if self.blamed:
            return keep_R
        blamed_R = (batch.column("passed_R") != 0) & (centre(batch.return_R, owner_R, groups) < 0)
        return keep_R & ~blamed_R
