"""No correction, on purpose. Axes: T tokens."""

import torch
from torch import Tensor

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.objectives.corrections.mismatch import conflicts_of
from palaestra.trainers.objectives.part import part


@part("correction", "uncorrected", formula="1", conflicts=conflicts_of("uncorrected"))
def no_correction(batch: TokenBatch, /) -> Tensor:
    """Weights of 1, as if the trained weights had sampled the rollouts. Experimental: the control of corrections.

    It allows settings that are otherwise refused without a correction, such as FP8 rollouts or stale ones.
    """
    return torch.ones_like(batch.logprob_T)
