"""Losses beside the surrogate's, each with a coefficient and means of its own."""

from palaestra.trainers.objectives.regularisers.divergence import Kl, MovePenalty, divergence
from palaestra.trainers.objectives.regularisers.entropy import Entropy
from palaestra.trainers.objectives.regularisers.imitation import PositiveNll

__all__ = ["Entropy", "Kl", "MovePenalty", "PositiveNll", "divergence"]
