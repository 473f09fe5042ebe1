"""Paths: the sequences of a pass, each of which may begin as the one before it does. Axes: P tokens of all paths."""

from collections.abc import Sequence

import torch
from torch import Tensor

from palaestra.record import record


@record
class PrefixPath:
    """A sequence of a pass."""

    own: int
    """Its own tokens, at least one; they stand behind those of the path before it."""
    common: int = 0
    """How many tokens come first that the path before it begins with as well."""


def path_places(paths: Sequence[PrefixPath]) -> Tensor:
    """Where in the pass the tokens of each path stand, those in common included, path after path, [P]."""
    places = [torch.empty(0, dtype=torch.long)]
    begin = 0
    for path in paths:
        places.append(torch.cat((places[-1][: path.common], torch.arange(begin, begin + path.own))))
        begin += path.own
    return torch.cat(places)
