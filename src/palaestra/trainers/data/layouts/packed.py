"""Segments one behind the other, without padding.

Axes: S segments.
"""

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layout import Layout
from palaestra.trainers.data.layouts.needed import needed
from palaestra.trainers.data.layouts.paths import PathAttention, PrefixPath


def packed_layout(batch: TokenBatch) -> Layout:
    """The needed tokens as they stand; each segment attends by itself."""
    need = needed(batch)
    return Layout(
        ids_N=batch.ids_T[need.token_K],
        position_N=batch.position_T[need.token_K],
        attend=PathAttention([PrefixPath(own=n) for n in need.length_S.tolist() if n], batch.ids_T.device),
        before_T=need.before_T,
    )
