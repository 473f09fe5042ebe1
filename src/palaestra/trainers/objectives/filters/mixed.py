"""DAPO's dynamic sampling: the filter; a recipe's `refill` replaces dropped groups. Axes: R trajectories, G groups."""

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.part import part
from palaestra.trainers.objectives.segments import count_over, number_keys


@part(
    "filter",
    "mixed",
    formula="0 < passed < G, or G = 1",
    sources=("arXiv:2503.14476", "github.com/volcengine/verl"),
    confidence="code",
    requires=("passed_R",),
    each_group=True,
)
def mixed_groups(batch: TokenBatch, /) -> Tensor:
    """Keeps groups with passed and failed members (DAPO, arXiv:2503.14476), and groups of one, as in its code.

    It uses passes and not rewards: a length penalty would make uninformative groups differ.
    """
    owner_R, groups = number_keys(batch.group_R)
    passed_G = count_over(batch.column("passed_R") != 0, owner_R, groups)
    size_G = torch.bincount(owner_R, minlength=groups)
    keep_G = ((passed_G > 0) & (passed_G < size_G)) | (size_G == 1)
    return keep_G[owner_R]
