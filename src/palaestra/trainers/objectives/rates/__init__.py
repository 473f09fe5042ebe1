"""How large a step may be: factors of the learning rate, by what a batch is worth."""

from palaestra.trainers.objectives.rates.ess import Ess, effective_share

__all__ = ["Ess", "effective_share"]
