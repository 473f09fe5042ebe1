"""Memory for time: the states between blocks are kept, and what happens inside a block is worked out twice."""

from functools import partial

from torch.utils.checkpoint import checkpoint

from palaestra.trainers.model.decoder import Decoder


def checkpoint_blocks(model: Decoder) -> None:
    """Have each block of `model` keep its input alone for the way back (Chen et al. 2016, arXiv:1604.06174)."""
    for block in model.model.layers:
        block.forward = partial(checkpoint, block.forward, use_reentrant=False)
