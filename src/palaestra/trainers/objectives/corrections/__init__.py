"""Corrections: weights of tokens that were sampled by other weights or with other arithmetic."""

from palaestra.trainers.objectives.corrections.decoupled import DecoupledWeight, proximal_logprobs
from palaestra.trainers.objectives.corrections.icepop import IcePop
from palaestra.trainers.objectives.corrections.mismatch import log_mismatch
from palaestra.trainers.objectives.corrections.no_correction import no_correction
from palaestra.trainers.objectives.corrections.truncated import SequenceTis, TokenTis

__all__ = ["DecoupledWeight", "IcePop", "SequenceTis", "TokenTis", "log_mismatch", "no_correction", "proximal_logprobs"]
