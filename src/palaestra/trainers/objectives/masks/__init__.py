"""Masks, which leave out tokens of a step."""

from palaestra.trainers.objectives.masks.anchors import Anchors, greatest_share
from palaestra.trainers.objectives.masks.broken import drop_invalid_turns, drop_truncated
from palaestra.trainers.objectives.masks.entropy import EntropyTop, S2t
from palaestra.trainers.objectives.masks.rejection import RejectTokens
from palaestra.trainers.objectives.masks.stale import M2po, Opsm

__all__ = [
    "Anchors",
    "EntropyTop",
    "M2po",
    "Opsm",
    "RejectTokens",
    "S2t",
    "drop_invalid_turns",
    "drop_truncated",
    "greatest_share",
]
