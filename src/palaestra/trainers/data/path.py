"""Paths: the sequences of a pass, each of which may share a prefix with the one before. Axes: P tokens of all paths."""

from collections.abc import Sequence

import torch
from torch import Tensor

from palaestra.record import record


@record
class PrefixPath:
    """A sequence of a pass."""

    own: int
    """The number of the path's own tokens, at least one; in the pass they follow those of the path before it."""
    common: int = 0
    """The length of the prefix that the path shares with the path before it, in tokens."""


def path_places(paths: Sequence[PrefixPath]) -> Tensor:
    """The places in the pass of each path's tokens, shared ones included, path after path, [P]."""
    places = [torch.empty(0, dtype=torch.long)]
    begin = 0
    for path in paths:
        places.append(torch.cat((places[-1][: path.common], torch.arange(begin, begin + path.own))))
        begin += path.own
    return torch.cat(places)
