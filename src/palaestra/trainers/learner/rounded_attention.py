"""Attention over keys and values that are rounded to E4M3, as in an engine that stores them so.

Axes: N tokens of a pass, H heads, G key-value heads, D head dimension.
"""

from torch import Tensor

from palaestra.trainers.learner.straight_through import replace_value
from palaestra.trainers.model.decoder import Attend
from palaestra.trainers.quantised_vectors import round_vectors


class RoundedAttention:
    """An `Attend` that rounds the keys and values of each token and head; gradients pass the rounding.

    Args:
        attend: The attention that reads the rounded values.
    """

    def __init__(self, attend: Attend) -> None:
        self._attend = attend

    def __call__(self, layer: int, q_NHD: Tensor, k_NGD: Tensor, v_NGD: Tensor, /) -> Tensor:
        """See `Attend`."""
        k_NGD, v_NGD = (replace_value(x_NGD, round_vectors(x_NGD.detach())) for x_NGD in (k_NGD, v_NGD))
        return self._attend(layer, q_NHD, k_NGD, v_NGD)
