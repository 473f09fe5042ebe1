"""Decoders small enough for a test, transformers' models of the same weights, and plain causal attention."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedModel

from palaestra.trainers.model.checkpoint import fresh, save_decoder
from palaestra.trainers.model.decoder import Decoder
from palaestra.trainers.model.shape import DecoderShape, RopeScaling

STRETCHED = RopeScaling(factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_context=64)


def tiny(**changes: Any) -> DecoderShape:
    """A shape of two layers, with `changes`."""
    fields: dict[str, Any] = {
        "vocabulary": 48,
        "hidden": 32,
        "layers": 2,
        "heads": 4,
        "kv_heads": 2,
        "head_dim": 8,
        "mlp": 48,
        "context": 256,
    }
    return DecoderShape(**{**fields, **changes})


def varied(shape: DecoderShape, *, seed: int = 0, deviation: float = 0.3) -> Decoder:
    """A decoder whose distributions are far from even and whose norms are not 1, so that every weight matters."""
    decoder = fresh(shape, seed=seed)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for weight in decoder.parameters():
            weight.add_(torch.empty_like(weight).normal_(0.0, deviation, generator=generator))
    return decoder.eval()


def causal(layer: int, q_THD: Tensor, k_TGD: Tensor, v_TGD: Tensor, /) -> Tensor:
    """Attention within one sequence, written out."""
    del layer
    heads, groups = q_THD.shape[1], k_TGD.shape[1]
    k_THD, v_THD = (x.repeat_interleave(heads // groups, dim=1) for x in (k_TGD, v_TGD))
    scores_HTT = torch.einsum("qhd,khd->hqk", q_THD, k_THD) / q_THD.shape[-1] ** 0.5
    later_TT = torch.ones(scores_HTT.shape[-2:], dtype=torch.bool).triu(1)
    return torch.einsum("hqk,khd->qhd", scores_HTT.masked_fill(later_TT, -torch.inf).softmax(-1), v_THD)


@torch.inference_mode()
def logits_of(decoder: Decoder, ids: list[int]) -> Tensor:
    """The logits behind each token of one sequence, [T, V], from the whole of it at once."""
    return decoder.logits(decoder(torch.tensor(ids), torch.arange(len(ids)), causal))


def in_transformers(decoder: Decoder, directory: Path) -> PreTrainedModel:
    """Transformers' own model of the same weights."""
    save_decoder(decoder, directory)
    auto: Any = AutoModelForCausalLM  # its own types are open
    model: PreTrainedModel = auto.from_pretrained(directory, local_files_only=True)
    model.eval()
    return model
