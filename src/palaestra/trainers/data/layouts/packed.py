"""The packed layout: segments one after another, without padding.

Axes: S segments.
"""

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layout import Layout
from palaestra.trainers.data.layouts.needed import find_needed_tokens
from palaestra.trainers.data.layouts.paths import PathAttention
from palaestra.trainers.data.path import PrefixPath


def packed_layout(batch: TokenBatch) -> Layout:
    """The needed tokens in the batch's order; each segment attends to itself only."""
    need = find_needed_tokens(batch)
    paths = [PrefixPath(own=n) for n in need.length_S.tolist() if n]
    return Layout(
        ids_N=batch.ids_T[need.token_K],
        position_N=batch.position_T[need.token_K],
        attend=PathAttention(paths, batch.ids_T.device),
        paths=paths,
        before_T=need.before_T,
    )
