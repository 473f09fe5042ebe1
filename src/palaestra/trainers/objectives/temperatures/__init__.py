"""Sampling temperatures of tokens, learnt beside the policy."""

from palaestra.trainers.objectives.temperatures.introllm import IntroLlm

__all__ = ["IntroLlm"]
