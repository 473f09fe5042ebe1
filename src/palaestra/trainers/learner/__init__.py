"""The learner, which updates weights from trajectories: a decoder, an optimiser, and the passes."""

from palaestra.trainers.device import Precision
from palaestra.trainers.learner.config import LearnerConfig, LoraConfig
from palaestra.trainers.learner.learner import Learner
from palaestra.trainers.learner.logprobs import TokenScores, score_tokens

__all__ = [
    "Learner",
    "LearnerConfig",
    "LoraConfig",
    "Precision",
    "TokenScores",
    "score_tokens",
]
