"""Losses in addition to the surrogate's, each with its own coefficient and means."""

from palaestra.trainers.objectives.regularisers.divergence import Kl, MovePenalty, divergence
from palaestra.trainers.objectives.regularisers.entropy import Entropy
from palaestra.trainers.objectives.regularisers.imitation import PositiveNll

__all__ = ["Entropy", "Kl", "MovePenalty", "PositiveNll", "divergence"]
