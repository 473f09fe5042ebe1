"""The padded layout, the simplest: one row for each segment, padded to the longest.

Axes: T tokens of the batch, N tokens of the pass, S segments, K needed tokens, B rows, L places in a row, H heads,
G key-value heads, D head dimension.
"""

import torch
from torch import Tensor
from torch.nn import functional

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layout import Layout
from palaestra.trainers.data.layouts.needed import find_needed_tokens
from palaestra.trainers.data.path import PrefixPath
from palaestra.trainers.model.decoder import Attend


def padded_layout(batch: TokenBatch) -> Layout:
    """Rows of equal length. Padding follows the real tokens, so no real token sees it."""
    need = find_needed_tokens(batch)
    length_B = need.length_S[need.length_S > 0]
    rows, width = len(length_B), int(length_B.max())
    row_K = torch.arange(rows, device=length_B.device).repeat_interleave(length_B)
    place_K = row_K * width + batch.position_T[need.token_K]
    ids_N = torch.zeros(rows * width, dtype=torch.long, device=length_B.device)
    ids_N[place_K] = batch.ids_T[need.token_K]
    return Layout(
        ids_N=ids_N,
        position_N=torch.arange(width, device=length_B.device).repeat(rows),
        attend=_in_rows(rows),
        paths=[PrefixPath(own=width)] * rows,
        before_T=place_K[need.before_T],
    )


def _in_rows(rows: int) -> Attend:
    def attend(layer: int, q_NHD: Tensor, k_NGD: Tensor, v_NGD: Tensor) -> Tensor:
        del layer
        q_BHLD, k_BGLD, v_BGLD = (x.unflatten(0, (rows, -1)).transpose(1, 2) for x in (q_NHD, k_NGD, v_NGD))
        seen_BHLD = functional.scaled_dot_product_attention(q_BHLD, k_BGLD, v_BGLD, is_causal=True, enable_gqa=True)
        return seen_BHLD.transpose(1, 2).flatten(0, 1)

    return attend
