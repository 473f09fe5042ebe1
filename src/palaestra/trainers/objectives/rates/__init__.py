"""Factors of the learning rate, from the information in a batch."""

from palaestra.trainers.objectives.rates.ess import Ess, effective_share

__all__ = ["Ess", "effective_share"]
