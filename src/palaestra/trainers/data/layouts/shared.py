"""The shared layout: the model processes each prefix that several segments share once.

Branches of a trajectory and the trajectories of a group begin with the same tokens at the same positions, so the states
of these tokens are the same. The pass holds the nodes of the trie of all segments; a token's node stands for the whole
path from the segment's beginning.

Axes: T tokens of the batch, N tokens of the pass, S segments, K needed tokens of the batch.
"""

from itertools import accumulate

import torch

from palaestra.trainers.data.batch import TokenBatch
from palaestra.trainers.data.layout import Layout
from palaestra.trainers.data.layouts.needed import find_needed_tokens
from palaestra.trainers.data.layouts.paths import PathAttention
from palaestra.trainers.data.layouts.prefixes import common, length, segment_keys
from palaestra.trainers.data.path import PrefixPath


def shared_layout(batch: TokenBatch) -> Layout:
    """The distinct paths of the needed tokens, each once; depth first, so that a node's path precedes it."""
    need = find_needed_tokens(batch)
    device = batch.ids_T.device
    keys = segment_keys(batch.ids_T[need.token_K], need.length_S)
    node_K = torch.empty_like(need.token_K, device="cpu")
    paths: list[PrefixPath] = []
    before, nodes, count = b"", torch.empty(0, dtype=torch.long), 0
    starts = accumulate(map(length, keys), initial=0)
    for key, start in sorted(zip(keys, starts, strict=False)):
        alike = common(before, key)
        own = length(key) - alike
        nodes = torch.cat((nodes[:alike], torch.arange(count, count + own)))
        node_K[start : start + len(nodes)] = nodes
        if own:
            paths.append(PrefixPath(own=own, common=alike))
        before, count = key, count + own
    token_N = torch.empty(count, dtype=torch.long, device=device)
    node_K = node_K.to(device)
    token_N[node_K] = need.token_K
    return Layout(
        ids_N=batch.ids_T[token_N],
        position_N=batch.position_T[token_N],
        attend=PathAttention(paths, device),
        paths=paths,
        before_T=node_K[need.before_T],
    )
