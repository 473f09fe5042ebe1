"""The arrangement of a batch's tokens for one forward pass.

Axes: T tokens of the batch, N tokens of the pass.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from palaestra.trainers.data.path import PrefixPath
from palaestra.trainers.model.decoder import Attend


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One pass: its tokens, the attention between them, and their relation to the batch's tokens."""

    ids_N: Tensor
    position_N: Tensor
    attend: Attend
    paths: Sequence[PrefixPath]
    """The sequences that `attend` follows, in the order of their own tokens; padding belongs to its row's path."""
    before_T: Tensor
    """For each token of the batch, the token of the pass that predicts it: the one before it in its segment. For the
    first token of a segment, and for tokens after its last trained token, it is an arbitrary valid index: nothing reads
    their predictions, and they need not be in the pass."""

    @property
    def tokens(self) -> int:
        """The number of tokens in the pass, padding included; it determines the cost."""
        return len(self.ids_N)
