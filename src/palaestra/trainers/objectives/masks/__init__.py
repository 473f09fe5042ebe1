"""Which tokens a step is without."""

from palaestra.trainers.objectives.masks.anchors import Anchors, greatest_share
from palaestra.trainers.objectives.masks.broken import invalid_turns, truncated
from palaestra.trainers.objectives.masks.entropy import EntropyTop, S2t
from palaestra.trainers.objectives.masks.rejection import Reject
from palaestra.trainers.objectives.masks.stale import M2po, Opsm

__all__ = [
    "Anchors",
    "EntropyTop",
    "M2po",
    "Opsm",
    "Reject",
    "S2t",
    "greatest_share",
    "invalid_turns",
    "truncated",
]
