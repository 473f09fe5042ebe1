"""Right answers for right reasons, wrong ones for wrong reasons. Axes: R trajectories, G groups."""

from dataclasses import dataclass

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.filters.places import ranks
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over, number_keys


@part(
    "filter",
    "prof",
    formula="of each group `keep`: passed of the greatest process score, failed of the least, half of each",
    sources=("arXiv:2509.03403", "github.com/Chenluye99/PROF"),
    confidence="paper",
    requires=("passed_R", "process_R"),
)
@dataclass(frozen=True, slots=True, kw_only=True)
class Prof:
    """PROF (arXiv:2509.03403): a process reward model selects the rollouts to train on from a larger number.

    It keeps passed trajectories with the best step scores and failed ones with the worst, equally many of each if there
    are enough. The score is in no advantage, so it cannot be farmed. With an odd number, the larger side has one more;
    that is ours. A group of at most `keep` stays whole.
    """

    keep: int
    """The number of trajectories per group to train on."""

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"keep={self.keep}: the number of trajectories of each group to train on; at least 1")

    def __call__(self, batch: TokenBatch, /) -> Tensor:
        """See `Filter`."""
        owner_R, groups = number_keys(batch.group_R)
        passed_R = batch.column("passed_R") != 0
        right_G = count_over(passed_R, owner_R, groups)
        wrong_G = count_over(~passed_R, owner_R, groups)
        half_G = torch.where(right_G >= wrong_G, (self.keep + 1) // 2, self.keep // 2)
        stay_G = torch.minimum(right_G, torch.maximum(self.keep - wrong_G, half_G))
        score_R = batch.column("process_R")
        # Each side of a group is an owner of its own.
        place_R = ranks(torch.where(passed_R, -score_R, score_R), 2 * owner_R + passed_R.long())
        return place_R < torch.where(passed_R, stay_G[owner_R], (self.keep - stay_G)[owner_R])
