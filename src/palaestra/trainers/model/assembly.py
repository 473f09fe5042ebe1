"""Construction of a decoder from existing weights."""

from collections.abc import Mapping

import torch
from torch import Tensor

from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape

OUTPUT, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


def empty_decoder(shape: DecoderShape) -> Decoder:
    """A decoder whose weights have shapes but no values."""
    with torch.device("meta"):
        return Decoder(shape)


def assemble_decoder(shape: DecoderShape, weights: Mapping[str, Tensor]) -> Decoder:
    """A decoder that takes over these weights; if they are tied, the output layer's may be missing."""
    decoder = empty_decoder(shape)
    whole = {**weights, OUTPUT: weights[EMBEDDING]} if shape.tied else weights
    decoder.load_state_dict(whole, assign=True)
    decoder.tie()
    return decoder
