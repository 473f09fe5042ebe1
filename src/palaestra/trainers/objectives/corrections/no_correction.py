"""No correction, on purpose. Axes: T tokens."""

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.corrections.mismatch import conflicts_of
from palaestra.trainers.objectives.part import part


@part("correction", "uncorrected", formula="1", conflicts=conflicts_of("uncorrected"))
def no_correction(batch: TokenBatch, /) -> Tensor:
    """Weights of 1: rollouts count as if the trained weights had drawn them. Experimental: the control of corrections.

    It lets settings pass that are otherwise refused for want of a correction, such as FP8 rollouts or stale ones.
    """
    return torch.ones_like(batch.logprob_T)
