"""Activation checkpointing: only states between blocks are kept, and the backward pass computes blocks again."""

from functools import partial

from torch.utils.checkpoint import checkpoint

from palaestra.trainers.model.decoder import Decoder


def checkpoint_blocks(model: Decoder) -> None:
    """Make each block of `model` keep only its input for the backward pass (Chen et al. 2016, arXiv:1604.06174)."""
    for block in model.model.layers:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)
