"""How the tokens of a batch go through a model in one pass.

Axes: T tokens of the batch, N tokens of the pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.path import PrefixPath
from palaestra.trainers.model.decoder import Attend


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One pass: the tokens that are put through, how they see each other, and where the batch's tokens find theirs."""

    ids_N: Tensor
    position_N: Tensor
    attend: Attend
    paths: Sequence[PrefixPath]
    """The sequences that `attend` goes along, in the order of their own tokens; padding is of its row's path."""
    before_T: Tensor
    """For each token of the batch the token of the pass that predicts it: the one before it in its segment. Arbitrary,
    but a valid index, for the first of a segment and for what follows its last trained token, since nothing reads what
    is said of those and they need not be put through."""

    @property
    def tokens(self) -> int:
        """How many tokens are put through, padding included; what a pass costs goes with it."""
        return len(self.ids_N)
