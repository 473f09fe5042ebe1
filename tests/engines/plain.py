"""The second implementation: one trajectory at a time, every place worked out anew, attention written out.

Axes: T new tokens, S tokens seen, H heads, G key-value heads, D head dimension, V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from palaestra.trainers.engines.engine import Sampling
from palaestra.trainers.model.checkpoint import fresh
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape

_SPREAD = 1.5
"""Deviation of the logits: some tokens are likely, none is certain."""


def telling(shape: DecoderShape, *, seed: int) -> Decoder:
    """A decoder whose every token depends on the whole context, on its far end too.

    Fresh weights are so small that what a token attends to hardly matters, and keys and values that should have been
    made anew would not be noticed.
    """
    decoder = fresh(shape, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for name, weight in decoder.named_parameters():
        if weight.dim() == 1:
            continue
        outer = name in {"model.embed_tokens.weight", "lm_head.weight"}
        deviation = (_SPREAD if outer else 1.0) / weight.shape[-1] ** 0.5
        weight.data.normal_(0.0, deviation, generator=generator)
    return decoder.eval()


class Memory:
    """The keys and values of one trajectory, as some decoder made them."""

    def __init__(self) -> None:
        self.layers: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def length(self) -> int:
        """Tokens remembered."""
        return self.layers[0][0].shape[0] if self.layers else 0

    def __call__(self, layer: int, q_THD: Tensor, k_TGD: Tensor, v_TGD: Tensor, /) -> Tensor:
        """Remember the new keys and values, and let each new token see all before it and itself."""
        if layer in self.layers:
            k_before, v_before = self.layers[layer]
            k_TGD, v_TGD = torch.cat((k_before, k_TGD)), torch.cat((v_before, v_TGD))
        self.layers[layer] = (k_TGD, v_TGD)
        new, seen = q_THD.shape[0], k_TGD.shape[0]
        k_SHD, v_SHD = (x.repeat_interleave(q_THD.shape[1] // x.shape[1], 1) for x in (k_TGD, v_TGD))
        score_HTS = torch.einsum("thd,shd->hts", q_THD, k_SHD) / q_THD.shape[-1] ** 0.5
        hidden_TS = torch.arange(seen) > torch.arange(seen - new, seen)[:, None]
        weight_HTS = score_HTS.masked_fill(hidden_TS, -torch.inf).softmax(-1)
        return torch.einsum("hts,shd->thd", weight_HTS, v_SHD)


@torch.no_grad()
def distributions(decoder: Decoder, ids: Sequence[int], memory: Memory | None = None) -> Tensor:
    """The logits that follow each of `ids`, [T, V], which come after what `memory` holds; they are added to it."""
    memory = memory if memory is not None else Memory()
    place_T = torch.arange(memory.length, memory.length + len(ids))
    return decoder.logits(decoder(torch.tensor(ids), place_T, memory)).float()


def processed(logits_TV: Tensor, sampling: Sampling) -> Tensor:
    """Log-probabilities of what is really drawn from, [T, V]: at the temperature, outside the nucleus -inf."""
    logp_TV = (logits_TV / sampling.temperature).log_softmax(-1)
    sorted_TV, order_TV = logp_TV.sort(-1, descending=True)
    before_TV = sorted_TV.exp().cumsum(-1) - sorted_TV.exp()
    kept_TV = torch.empty_like(before_TV, dtype=torch.bool).scatter_(-1, order_TV, before_TV < sampling.top_p)
    return logp_TV.masked_fill(~kept_TV, -torch.inf).log_softmax(-1)


def expected(decoder: Decoder, context: Sequence[int], ids: Sequence[int], sampling: Sampling) -> Tensor:
    """Log-probabilities at each place of a turn `ids` that follows `context`, all under one decoder, [T, V]."""
    logits_TV = distributions(decoder, (*context, *ids)[:-1])
    return processed(logits_TV[len(context) - 1 :], sampling)


def expected_across(
    old: Decoder, new: Decoder, context: Sequence[int], ids: Sequence[int], switch: int, sampling: Sampling
) -> Tensor:
    """The same where `new` took over from token `switch` of the turn on, and kept the keys and values that stood."""
    memory = Memory()
    whole = (*context, *ids)[:-1]
    turn = len(context) - 1 + switch
    before_TV = distributions(old, whole[:turn], memory)
    after_TV = distributions(new, whole[turn:], memory)
    return processed(torch.cat((before_TV, after_TV))[len(context) - 1 :], sampling)
