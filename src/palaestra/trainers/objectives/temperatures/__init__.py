"""Which temperature each token is sampled at, where that is learnt beside the policy."""

from palaestra.trainers.objectives.temperatures.introllm import IntroLlm

__all__ = ["IntroLlm"]
